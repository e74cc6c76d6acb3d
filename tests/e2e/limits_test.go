//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/testbed/docker"
)

// limitsSuite has a container that would take more than it may have.
const limitsSuite = `
suite: limits
nodes: {b: {cpus: shared}}
traffic: {kind: stream, message: 1400B}
cells:
  %s: {path: {kind: published-port, proxy: off, cpus: 0.1, memory: 128MiB}, pairs: [{from: b, to: {container: server, on: b}}]}
`

// limitFiles are those of a container's control groups, and what they are to say, by the version of control groups
// (Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst).
var limitFiles = map[string]map[string]string{
	"1": {"cpu/%s/*/cpu.cfs_quota_us": "10000", "cpu/%s/*/cpu.cfs_period_us": "100000", "memory/%s/*/memory.limit_in_bytes": "134217728"},
	"2": {"%s/*/cpu.max": "10000 100000", "%s/*/memory.max": "134217728"},
}

// throttledIn says how often a container had to wait for its next share of CPU time.
var throttledIn = map[string]string{"1": "cpu/%s/*/cpu.stat", "2": "%s/*/cpu.stat"}

// cgroupVersion is 2 where the unified tree is mounted alone.
func cgroupVersion(t testing.TB) string {
	t.Helper()
	var tree unix.Statfs_t
	if err := unix.Statfs("/sys/fs/cgroup", &tree); err != nil {
		t.Skipf("not looked at here: no control groups: %v", err)
	}
	if tree.Type == unix.CGROUP2_SUPER_MAGIC {
		return "2"
	}
	return "1"
}

// TestContainersHaveTheirLimits: the kernel has them as they were asked for, and enforces them, while the cell is measured; then
// they are gone. `make cgroup2` runs it with control groups of the other version.
func TestContainersHaveTheirLimits(t *testing.T) { measured(t, testContainersHaveTheirLimits) }

func testContainersHaveTheirLimits(t *attempt) {
	needsDocker(t)
	version := cgroupVersion(t)
	cell := fmt.Sprintf("limits%d", os.Getpid())
	group := docker.CgroupPrefix[1:] + "*-b-" + cell
	dir := filepath.Join(t.TempDir(), "run")
	args := dockerRun(t, fmt.Sprintf(limitsSuite, cell), "--budget", cmp.Or(os.Getenv("LIMITS_BUDGET"), "60s"), "--window", "500ms", "--json", "--out", dir)
	var out, errs bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	ended := startBound(t, cmd)
	defer func() { _ = cmd.Process.Kill(); <-ended }()
	found, throttled, late := map[string]string{}, 0, time.After(2*time.Minute)
	interrupt := sync.OnceFunc(func() { _ = cmd.Process.Signal(syscall.SIGINT) }) // all was seen
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-late:
			t.Fatalf("it does not end: %s", errs.String())
		case <-time.After(20 * time.Millisecond):
			for pattern := range limitFiles[version] {
				if text := groupFile(fmt.Sprintf(pattern, group)); text != "" {
					found[pattern] = text
				}
			}
			_, stat, _ := strings.Cut(groupFile(fmt.Sprintf(throttledIn[version], group)), "nr_throttled ")
			if n := 0; stat != "" {
				fmt.Sscan(stat, &n)
				throttled = max(throttled, n)
			}
			if len(found) == len(limitFiles[version]) && throttled > 0 && countTrials(t, dir)[cell] > 1 {
				interrupt()
			}
		}
	}
	for pattern, want := range limitFiles[version] {
		if found[pattern] != want {
			t.Errorf("%s is %q, and not %q", pattern, found[pattern], want)
		}
	}
	var r struct {
		Cells map[string]struct{ Status, Reason, Engines string }
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Cells[cell].Status != "measured" || throttled == 0 ||
		!strings.Contains(r.Cells[cell].Engines, "control groups cgroupfs, version "+version) {
		t.Errorf("throttled %d times, %v, %+v\n%s", throttled, err, r.Cells[cell], errs.String())
	}
	for _, tree := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		if left, _ := filepath.Glob(tree + group); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// groupFile is what the first file of a pattern below the control groups says, "" if there is none.
func groupFile(pattern string) string {
	files, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup", pattern))
	if len(files) == 0 {
		return ""
	}
	text, _ := os.ReadFile(files[0])
	return strings.TrimSpace(string(text))
}
