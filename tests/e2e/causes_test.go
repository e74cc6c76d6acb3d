//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// plantedSuite has one thing otherwise in each cell but the first. That of the cell quota is planted by the test.
const plantedSuite = `
suite: planted
asks: Is what was planted found, and named first?
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 128KiB}
path: bridge
cells:
  base: {pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
  mtu: {like: base, wire: {mtu: 600}}
  gro: {like: base, wire: {gro: off}}
  steer: {like: lso, wire: {steer: sender}}
  buffer: {like: base, traffic: {receive-buffer: 64KiB}}
  loss: {like: base, wire: {loss: 1%}}
  quota: {like: base}
  lso: {like: base, segmentation: no-lso}
  slow: {like: base, wire: {rate: 50Mbit/s}}
  slower: {like: slow, segmentation: no-lso}
ratios: [mtu/base, gro/base, steer/lso, buffer/base, loss/base, quota/base, lso/base, slower/slow]
`

// TestPlantedCauses plants a cause in a cell each, and reads which one the run's own evidence names first.
func TestPlantedCauses(t *testing.T) { measured(t, testPlantedCauses) }

func testPlantedCauses(t *attempt) {
	needsRoot(t)
	dir := t.TempDir()
	suite := filepath.Join(dir, "planted.yaml")
	if err := os.WriteFile(suite, []byte(plantedSuite), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", suite, "--window", "300ms", "--budget", "18s", "--json", "--out", filepath.Join(dir, "run"))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	giveQuota(t, "worker quota/s", 2)
	var r struct {
		Ratios map[string]struct {
			Estimate *float64
			Verdict  string
			Causes   []struct{ Factor, Says string }
		}
		Ceilings []struct {
			Kind  string
			Cells []string
		}
	}
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Errorf("no report: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	slower := 0
	for ratio, want := range map[string]string{
		"mtu/base": "mtu", "gro/base": "aggregation", "steer/lso": "steering", "buffer/base": "receive-window",
		"loss/base": "loss", "quota/base": "generator", "lso/base": "segmentation",
	} {
		got := r.Ratios[ratio]
		if got.Estimate == nil || *got.Estimate > 1/1.1 {
			t.Logf("%s is not judged: on this machine, now, it is not slower: %s", ratio, got.Verdict) // others have its CPUs
			continue
		}
		slower++
		if len(got.Causes) == 0 || got.Causes[0].Factor != want {
			t.Errorf("%s (%s): want %s first, got %+v", ratio, got.Verdict, want, got.Causes)
		}
	}
	if slower < 4 {
		t.Errorf("of seven cells in which something was planted %d are slower\n%s", slower, said.String())
	}
	shapers := 0 // beside it, cells may fill one CPU
	for _, c := range r.Ceilings {
		if c.Kind == "shaper" && strings.Join(c.Cells, " ") == "slow slower" {
			shapers++
		} else if c.Kind != "cpu" || slices.Contains(c.Cells, "slow") || slices.Contains(c.Cells, "slower") {
			t.Errorf("ceiling %+v", c)
		}
	}
	if shapers != 1 {
		t.Errorf("ceilings %+v", r.Ceilings)
	} else if c := r.Ratios["slower/slow"].Causes; len(c) == 0 || c[0].Factor != "ceiling" {
		t.Errorf("slower/slow: want ceiling first, got %+v", c)
	}
}

// giveQuota puts a worker, which a node's agent has noted by what it is, into a control group with so many percent of a
// CPU, which goes with the test.
func giveQuota(t testing.TB, worker string, percent int) {
	t.Helper()
	const period = 50_000 // microseconds: several of them lie in each window, and none has a quota under 1 ms
	group, quota := "/sys/fs/cgroup/cpu", map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": strconv.Itoa(period * percent / 100)}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group, quota = "/sys/fs/cgroup", map[string]string{"cpu.max": fmt.Sprintf("%d %d", period*percent/100, period)}
	}
	group = filepath.Join(group, fmt.Sprintf("windtunnel-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("not measured here: no control group can be made: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	for name, value := range quota {
		if err := os.WriteFile(filepath.Join(group, name), []byte(value), 0); err != nil {
			t.Skipf("not measured here: control groups have no quotas of CPU time: %v", err)
		}
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		if pid := noted(worker); pid != 0 {
			if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
				t.Fatal(err)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no agent has noted the %s", worker)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// noted is the process that the journals of living agents call so, 0 if there is none.
func noted(what string) int {
	journals, _ := filepath.Glob("/run/windtunnel/*/*/journal.jsonl")
	for _, path := range journals {
		file, err := os.Open(path)
		if err != nil {
			continue // its agent has ended
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var entry struct {
				PID  int    `json:"pid"`
				What string `json:"what"`
			}
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.What == what {
				file.Close()
				return entry.PID
			}
		}
		file.Close()
	}
	return 0
}
