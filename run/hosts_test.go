package run

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/testbed"
)

// twoHosts are real ones, of unequal size.
func twoHosts() Host {
	return Host{Nodes: map[string]Host{
		"a": {CPUs: []int{0, 1, 2, 3}, MemoryBytes: 8 << 30, Kernel: "6.1.0", NIC: &NIC{Device: "eth1", Address: "10.0.0.1/24"}},
		"b": {CPUs: []int{4}, MemoryBytes: 4 << 30, Kernel: "6.8.0", NIC: &NIC{Device: "ens5", Address: "10.0.0.2/24"}},
	}}
}

func TestPlanOnHosts(t *testing.T) {
	p := planned(t, "contrail-windows", twoHosts(), Settings{})
	if !p.OneAtATime || p.Times.RebuildSeconds == 0 || !slices.Equal(p.Nodes[1].CPUs, []int{4}) {
		t.Errorf("%+v %+v", p.Nodes, p.Times)
	}
	simulated := planned(t, "contrail-windows", large, Settings{})
	if p.Times.BlocksPlanned >= simulated.Times.BlocksPlanned || simulated.OneAtATime || simulated.Times.RebuildSeconds != 0 {
		t.Errorf("building anew costs no block: %+v and %+v", p.Times, simulated.Times)
	}
	for _, cell := range p.Runnable() {
		if cell.Record.Wire != testbed.WireNetwork {
			t.Errorf("%s: the wire is %s", cell.Record.Name, cell.Record.Wire)
		}
		for _, l := range cell.Laid.Graph.Links {
			if l.Role == result.RoleWire && (l.Ends[0].Device != "eth1" || l.Ends[1].Device != "ens5") {
				t.Errorf("%s: the wire is %+v", cell.Record.Name, l)
			}
		}
	}
	if len(p.Runnable()) != 8 {
		t.Errorf("%d cells run", len(p.Runnable()))
	}
}

// TestPlanWithWindows: raw cells are laid in both hosts' own stacks as they are, and all others are refused by name.
func TestPlanWithWindows(t *testing.T) {
	host := twoHosts()
	for node, change := range map[string]func(*Host){
		"a": func(h *Host) { h.NIC.MTU, h.NIC.Fixed = 9000, "it has the default route" },
		"b": func(h *Host) {
			h.System, h.NIC.MTU, h.NIC.Device = "Windows 10.0.22631", 1400, "if7"
			h.Missing = map[string]string{testbed.FeatureNetns: "this is Windows"}
		},
	} {
		h := host.Nodes[node]
		change(&h)
		host.Nodes[node] = h
	}
	p := planned(t, "contrail-windows", host, Settings{})
	for _, cell := range p.Cells {
		if !slices.ContainsFunc(cell.Record.Pairs, func(p result.Pair) bool { return p.From.Node == "b" || p.To.Node == "b" }) {
			continue // it is on Linux alone
		}
		raw := cell.Record.Path == "wire" && cell.Record.Segmentation != string(datapath.SegmentationOff)
		if raw != (cell.Record.Skipped == "") || !raw && !strings.Contains(cell.Record.Skipped, "Windows") && !strings.Contains(cell.Record.Skipped, "no Linux") {
			t.Errorf("%s: %q", cell.Record.Name, cell.Record.Skipped)
		}
		if g := cell.Laid.Graph; raw && (!g.Nodes[0].InPlace || !g.Nodes[1].InPlace || g.Links[0].Ends[1].Device != "if7" || cell.Record.MTU.Wire != 1400 || cell.Record.MTU.Endpoint != 1400) {
			t.Errorf("%s: %+v %+v", cell.Record.Name, g, cell.Record.MTU)
		}
	}
	if len(p.Runnable()) == 0 {
		t.Error("nothing runs")
	}
	for says, cell := range map[string]scenario.Cell{
		"raw frames":     {Traffic: rawFrames},
		"nothing is set": {Traffic: streams, Checksum: scenario.ChecksumSoftware},
	} {
		path, _ := paths.ByName("wire")
		if why := unplain(path, cell); !strings.Contains(why, says) {
			t.Errorf("%s: %q", says, why)
		}
	}
	windows := host.Nodes["b"]
	if why := windows.unmetHere(scenario.Requirements{Kernel: "6.1"}, 1); !strings.Contains(why, "needs Linux 6.1, this is Windows") {
		t.Error(why)
	}
}

// TestPlanOfAMeshOfHosts: every two of them are joined by the interfaces that they have, which stay as they are; what needs another
// one is refused by name.
func TestPlanOfAMeshOfHosts(t *testing.T) {
	host := twoHosts()
	host.Nodes["c"] = Host{CPUs: []int{1}, MemoryBytes: 4 << 30, Kernel: "6.8.0", NIC: &NIC{Device: "eth1", Address: "10.0.0.3/24"}}
	p := planned(t, "mesh", host, Settings{})
	for _, cell := range p.Cells {
		g, name := cell.Laid.Graph, cell.Record.Name
		switch {
		case name == "bridged":
			if !strings.Contains(cell.Record.Skipped, "more than two hosts") {
				t.Errorf("%s: %q", name, cell.Record.Skipped)
			}
		case cell.Record.Skipped != "":
			t.Errorf("%s: %q", name, cell.Record.Skipped)
		case name == "alone":
			if !g.Nodes[0].InPlace || len(g.Links) != 1 { // as the mesh that it is compared with
				t.Errorf("%s: %+v", name, g)
			}
		case len(g.Links) != 3 || !g.Nodes[2].InPlace || g.Links[2].Ends[0].Device != "ens5" || g.Links[2].Ends[1].Addresses[0] != "10.0.0.3/24":
			t.Errorf("%s: %+v", name, g)
		case name == "every" && (len(cell.Laid.ByPair) != 6 || cell.Laid.ByPair[0] != "10.0.0.2"):
			t.Errorf("%s: %v", name, cell.Laid.ByPair)
		}
		if err := testbed.Validate(g); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, cell := range planned(t, "mesh", host, Settings{Cells: []string{"alone"}}).Cells {
		if cell.Laid.Graph.Nodes[0].InPlace {
			t.Errorf("%s is compared with no mesh, and its nodes are the hosts' own stacks", cell.Record.Name)
		}
	}
}

// TestEachHostMeetsRequirements by itself: what one lacks is said with its node's name.
func TestEachHostMeetsRequirements(t *testing.T) {
	host := twoHosts()
	b := host.Nodes["b"]
	b.Missing = map[string]string{testbed.FeatureVXLAN: "no such device"}
	b.Find = func(string) error { return errors.New("not there") }
	host.Nodes["b"] = b
	p := planned(t, "contrail-windows", host, Settings{})
	for _, cell := range p.Cells {
		want := ""
		if cell.Record.Name == "D-vxlan" {
			want = "node b: needs vxlan: no such device"
		}
		if cell.Record.Skipped != want {
			t.Errorf("%s: skipped for %q", cell.Record.Name, cell.Record.Skipped)
		}
	}
	for _, h := range p.Hypotheses {
		if h.ID == "switch-bottleneck" && !strings.Contains(h.NotMeasured, "node b has 1") {
			t.Errorf("%s: %q", h.ID, h.NotMeasured)
		}
	}
	memory := planned(t, "nfv-pps", Host{Nodes: map[string]Host{"a": twoHosts().Nodes["a"]}}, Settings{})
	if len(memory.Runnable()) == 0 {
		t.Error("cells of one node do not run on one host")
	}
}

func TestHostsAreTheSuitesNodes(t *testing.T) {
	host := twoHosts()
	delete(host.Nodes, "b")
	if _, err := MakePlan(shipped(t, "contrail-windows"), host, Settings{Budget: time.Minute}); err == nil || !strings.Contains(err.Error(), "names no host for node b") {
		t.Errorf("%v", err)
	}
	host = twoHosts()
	host.Nodes["c"] = host.Nodes["a"]
	if _, err := MakePlan(shipped(t, "contrail-windows"), host, Settings{Budget: time.Minute}); err == nil || !strings.Contains(err.Error(), "--nodes names c") {
		t.Errorf("%v", err)
	}
}

// TestPathsOfSimulatedNodes say so where there are hosts.
func TestPathsOfSimulatedNodes(t *testing.T) {
	for _, cell := range planned(t, "switches", twoHosts(), Settings{}).Cells {
		simulated := strings.Contains(cell.Record.Skipped, "is laid on simulated nodes only")
		if able := slices.Contains([]string{"wire", "bridge", "vxlan", "vrouter", "ovs"}, cell.Record.Path); able == simulated {
			t.Errorf("%s, path %s: skipped for %q", cell.Record.Name, cell.Record.Path, cell.Record.Skipped)
		}
	}
}

// TestEnginesOfHosts: cells of their containers run where hosts have engines as they are asked for, and say what else it is.
func TestEnginesOfHosts(t *testing.T) {
	const text = `
suite: engines
nodes: {a: {}, b: {}}
traffic: {kind: stream}
cells:
  wire: {path: wire, pairs: [{from: a, to: b}]}
  remote: {path: published-port, pairs: [{from: a, to: {container: server, on: b}}]}
  rules: {path: {kind: published-port, proxy: off}, pairs: [{from: b, to: {container: server, on: b}}]}
  back: {path: host-network, pairs: [{from: b, to: {container: server, on: a}}]}
`
	spec, err := scenario.Parse([]byte(text), "engines.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	host := twoHosts()
	b := host.Nodes["b"]
	b.Engine = &testbed.HostEngine{Socket: "/var/run/docker.sock", Proxy: testbed.ProxyOn}
	b.Find = func(string) error { return errors.New("not there") } // nothing of an engine of its own is needed
	a := host.Nodes["a"]
	a.NoEngine = "there is no container engine at /var/run/docker.sock"
	host.Nodes["a"], host.Nodes["b"] = a, b
	p, err := MakePlan(spec, host, Settings{Budget: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "", "runs with its userland proxy on", "node a: there is no container engine"} {
		if got := p.Cells[i].Record.Skipped; (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: skipped for %q", p.Cells[i].Record.Name, got)
		}
	}
	if want := (2*rebuildTime + rebuildEngines).Seconds() / 2; p.Times.RebuildSeconds != want {
		t.Errorf("building anew takes %g s, not %g", p.Times.RebuildSeconds, want)
	}
	b.NIC.Fixed = "the interface ens5 cannot be taken for data: ens5.7 (vlan) stands on it"
	p, err = MakePlan(spec, host, Settings{Budget: time.Minute})
	if err != nil || p.Cells[0].Record.Skipped != "node b: "+b.NIC.Fixed || p.Cells[1].Record.Skipped != "" {
		t.Errorf("%v: %q and %q", err, p.Cells[0].Record.Skipped, p.Cells[1].Record.Skipped)
	}
	b.NIC, b.NoNIC = nil, "no data address was given"
	host.Nodes["b"] = b
	if why := host.withoutEngine(p.Cells[2].Record.Pairs); !strings.Contains(why, "node b has no interface for data: no data address was given") {
		t.Errorf("%q", why)
	}
}

// TestAstray: bytes that arrived and that the wire's ends did not carry spoil a trial.
func TestAstray(t *testing.T) {
	p := planned(t, "contrail-windows", twoHosts(), Settings{Cells: []string{"A", "B"}})
	c := Conductor{Plan: p}
	cell := p.Cells[0]
	trial := func(in, out uint64) result.Trial {
		link := func(node, device string, rx, tx uint64) result.NodeSample {
			return result.NodeSample{Links: []result.LinkSample{{Place: node, Device: device, Role: result.RoleWire, RxBytes: rx, TxBytes: tx}}}
		}
		return result.Trial{
			Pairs: []result.PairSample{{Sender: result.PairEnd{Bytes: 1000000}, Receiver: result.PairEnd{Bytes: 1000000}}},
			Nodes: map[string]result.NodeSample{"a": link("a", "eth1", 1000, out), "b": link("b", "ens5", in, 1000)},
		}
	}
	if why := c.astray(cell, trial(1050000, 1050000)); why != "" {
		t.Error(why)
	}
	for _, off := range []result.Trial{trial(1050000, 70), trial(70, 1050000)} {
		if why := c.astray(cell, off); !strings.Contains(why, "another way") {
			t.Errorf("%q", why)
		}
	}
}
