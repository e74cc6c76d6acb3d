//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAMeshOfThreeNodes: every pair of three nodes on two CPUs at once, and two senders into one; all report forms have the matrix.
func TestAMeshOfThreeNodes(t *testing.T) { measured(t, testAMeshOfThreeNodes) }

func testAMeshOfThreeNodes(t *attempt) {
	needsRoot(t)
	before := hostAtRest(t)
	o, dir := runMesh(t)
	var r struct {
		Cells map[string]struct {
			Status, Reason string
			Matrix         *struct {
				From, To []string
				Received [][]*figure `json:"received_bits_per_second"`
				Latency  [][]*figure `json:"latency_p50_seconds"`
			}
		}
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", o.code, err, o.out, o.err)
	}
	for name, pairs := range map[string]int{"alone": 0, "every": 6, "into-one": 2, "requests": 6, "bridged": 6} {
		cell, known := r.Cells[name], 0
		if cell.Status != "measured" {
			t.Errorf("%s: %s (%s)", name, cell.Status, cell.Reason)
			continue
		}
		if (cell.Matrix != nil) != (pairs > 0) || (cell.Matrix != nil && len(cell.Matrix.Latency) > 0) != (name == "requests") {
			t.Errorf("%s: the matrix is %+v", name, cell.Matrix)
		}
		if cell.Matrix == nil {
			continue
		}
		for i, row := range cell.Matrix.Received {
			for k, f := range row {
				if f != nil && f.Mean != nil && *f.Mean > 0 && cell.Matrix.From[i] != cell.Matrix.To[k] {
					known++
				}
			}
		}
		if known != pairs {
			t.Errorf("%s: %d of %d pairs have a figure", name, known, pairs)
		}
	}
	for format, words := range map[string]string{"text": "Each pair of every: received", "md": "Each pair of every: received", "csv": "pair,every,received_bits_per_second,a,b,"} {
		if o := windtunnel(t, time.Minute, "report", dir, "--format", format); o.code != 0 || !strings.Contains(o.out, words) {
			t.Errorf("%s: exit code %d\n%s%s", format, o.code, o.out, o.err)
		}
	}
	mustBeAsBefore(t, before)
	t.Run("hosts", func(t *attempt) { meshOnHosts(t, parsed(t, o)) })
}

// runMesh runs the suite until its ratios have bounds, and once more with more time where they had none: on a busy machine
// five cells stand beside each other late, and few trials count. It returns what the run said, and its folder.
func runMesh(t testing.TB) (o outcome, dir string) {
	t.Helper()
	for _, budget := range []string{"34s", "2m"} {
		dir = filepath.Join(t.TempDir(), "run")
		o = windtunnel(t, 3*time.Minute, "run", "mesh", "--budget", budget, "--precision", "99%", "--window", "250ms", "--out", dir, "--json")
		if o.code == 0 && !slices.ContainsFunc(meshRatios, func(name string) bool { return parsed(t, o).Ratios[name].Low == nil }) {
			break
		}
	}
	return o, dir
}

// meshRatios are those that a mesh on hosts has, too.
var meshRatios = []string{"every/alone", "into-one/alone"}

// meshOnHosts is the same on three hosts: each has one interface for data, by which it reaches the others, and stays as it is. Ratios
// are those of simulated nodes, within their intervals and what the bed's switch may take: as much as sending itself, and simulated
// meshes have none. The run ends with the blocks that bounds take: on a busy machine, later.
func meshOnHosts(t testing.TB, simulated report) {
	b := hostsOf(t, 3)
	b.asNICs(t)
	before := b.states(t)
	o := b.run(t, 2*time.Minute, "run", "mesh", "--nodes", bothHosts+",c=ssh://root@h3?data=10.0.0.3", "--cells", "alone,every,into-one,bridged",
		"--budget", "60s", "--precision", "99%", "--window", "250ms", "--no-profile", "--json")
	r := parsed(t, o)
	t.Logf("the run took %.1f s", o.took.Seconds())
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.err)
	}
	b.mustBeAsBefore(t, before)
	for _, name := range []string{"alone", "every", "into-one"} {
		if cell := r.Cells[name]; cell.Status != "measured" || cell.Received.Mean == nil || *cell.Received.Mean < 1e7 {
			t.Errorf("%s: %+v\n%s", name, cell, o.err)
		}
	}
	if cell := r.Cells["bridged"]; cell.Status == "measured" || !strings.Contains(cell.Reason, "more than two hosts") {
		t.Errorf("bridged: %+v", cell)
	}
	const bySwitch = 2
	if compared := sameRatios(t, r, bySwitch, simulated); compared != len(meshRatios) {
		t.Errorf("%d of %d ratios have bounds in both\n%s", compared, len(meshRatios), o.err)
	}
}

// asNICs has the bed's wires be as simulated ones: packets of an MTU, which the receiving host's CPU joins. Hosts of a mesh are
// measured with their interfaces as they are.
func (b *hostsBed) asNICs(t testing.TB) {
	t.Helper()
	for i := range b.hosts {
		must(t, "nsenter", "-t", strconv.Itoa(b.conductor.pid), "-n", "ip", "link", "set", fmt.Sprintf("data%d", i+1), "mtu", "1500")
		before := pollers(t)
		b.on(t, i, "ip link set data mtu 1500; ethtool -K data tso off gso off tx-udp-segmentation off gro on; echo 1 >/sys/class/net/data/threaded")
		for _, pid := range pollers(t) {
			if !slices.Contains(before, pid) {
				must(t, "taskset", "-cp", cpuOf(t, i), pid)
			}
		}
	}
}

// pollers are the kernel's threads that receive for devices called data.
func pollers(t testing.TB) (pids []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), "napi/data-") {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}
