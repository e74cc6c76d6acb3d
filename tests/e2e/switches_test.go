//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func needsOpenVSwitch(t testing.TB) {
	t.Helper()
	needsRoot(t)
	if _, err := exec.LookPath("ovs-vswitchd"); err != nil {
		t.Skip("not measured here: needs ovs-vswitchd: apt-get install openvswitch-switch")
	}
}

// TestOpenVSwitchIsMeasured, plain and with VXLAN, and its configuration is shown.
func TestOpenVSwitchIsMeasured(t *testing.T) { measured(t, testOpenVSwitchIsMeasured) }

func testOpenVSwitchIsMeasured(t *attempt) {
	needsOpenVSwitch(t)
	o := untilMeasured(t, []string{"ovs", "ovs-vxlan"}, "run", "switches", "--cells", "ovs,ovs-vxlan", "--window", "500ms", "--json")
	var r struct {
		Cells map[string]struct {
			Status, Reason, Configuration string
			Received                      figure `json:"received_bits_per_second"`
			Counts                        map[string]figure
		}
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil || len(r.Cells) != 2 {
		t.Fatalf("exit code %d, %v\n%s%s", o.code, err, o.out, o.err)
	}
	for name, cell := range r.Cells {
		if cell.Status != "measured" || mean(cell.Received) < 1e7 {
			t.Errorf("%s: %s (%s), %+v\n%s", name, cell.Status, cell.Reason, cell.Received, o.err)
		}
		if mean(cell.Counts["ovs-a packets"]) < 1000 || mean(cell.Counts["ovs-b packets"]) < 1000 {
			t.Errorf("%s: its switches count %v", name, cell.Counts)
		}
		if !strings.Contains(cell.Configuration, "datapath_type=netdev") || strings.Contains(cell.Configuration, "type=vxlan") != (name == "ovs-vxlan") {
			t.Errorf("%s: the configuration is\n%s", name, cell.Configuration)
		}
	}
}

// portsSuite has endpoints at vhost-user sockets, on one node and on two.
const portsSuite = `
suite: switches-at-ports
asks: What do switches carry between vhost-user sockets?
nodes: {a: {}, b: {}}
traffic: {kind: frame, size: 64B, flows: 10}
cells:
  floor: {path: testpmd, pairs: [{from: {container: one, on: a}, to: {container: two, on: a}}]}
  vxlan: {path: {kind: ovs-dpdk, encapsulation: vxlan}, pairs: [{from: {container: one, on: a}, to: {container: two, on: b}}]}
`

// TestSwitchesAtPortsAreMeasured: testpmd, and Open vSwitch with DPDK and its VXLAN.
func TestSwitchesAtPortsAreMeasured(t *testing.T) { measured(t, testSwitchesAtPortsAreMeasured) }

func testSwitchesAtPortsAreMeasured(t *attempt) {
	needsPollMode(t)
	for _, program := range []string{"dpdk-testpmd", "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("not measured here: needs %s: apt-get install dpdk-dev openvswitch-switch-dpdk", program)
		}
	}
	for _, cell := range []string{"floor", "vxlan"} {
		file := filepath.Join(t.TempDir(), "ports.yaml")
		if err := os.WriteFile(file, []byte(portsSuite), 0o600); err != nil {
			t.Fatal(err)
		}
		o := untilMeasured(t, []string{cell}, "run", file, "--cells", cell, "--window", "1s", "--json")
		var r struct {
			Cells map[string]struct {
				Status, Reason, Configuration string
				Counts                        map[string]figure
				Packets                       struct {
					Received figure `json:"received_per_second"`
				}
			}
		}
		if err := json.Unmarshal([]byte(o.out), &r); err != nil {
			t.Fatalf("%s: exit code %d, %v\n%s%s", cell, o.code, err, o.out, o.err)
		}
		got := r.Cells[cell]
		if got.Status != "measured" || mean(got.Packets.Received) < 1000 || !strings.Contains(got.Configuration, "frame-poll") {
			t.Errorf("%s: %s (%s), %+v\n%s", cell, got.Status, got.Reason, got.Packets, o.err)
		}
		if cell == "vxlan" && mean(got.Counts["ovs-b packets"]) < 1000 {
			t.Errorf("%s: its switches count %v", cell, got.Counts)
		}
	}
}

// TestOpenVSwitchDiesWithItsAgent: a kill -9 of everybody who could end it.
func TestOpenVSwitchDiesWithItsAgent(t *testing.T) {
	needsOpenVSwitch(t)
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", "switches", "--cells", "ovs", "--budget", "8s", "--out", filepath.Join(t.TempDir(), "run"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	lease := fmt.Sprintf("/run/windtunnel/lease-%d-", cmd.Process.Pid)
	wait := func(what string, done func() bool) {
		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, serving(lease))
			}
		}
	}
	wait("both daemons of both nodes", func() bool { return len(serving(lease)) == 4 })
	for _, pid := range append(find("bin/windtunnel agent"), cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-ended
	wait("still running", func() bool { return len(serving(lease)) == 0 })
	clean(t)
	if left, _ := filepath.Glob(lease + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// serving are the command lines of Open vSwitch's daemons in a lease's folder.
func serving(lease string) []string {
	var all []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		line := strings.ReplaceAll(string(text), "\x00", " ")
		program, _, _ := strings.Cut(line, " ")
		if name := filepath.Base(program); (name == "ovs-vswitchd" || name == "ovsdb-server") && strings.Contains(line, lease) {
			all = append(all, line)
		}
	}
	return all
}
