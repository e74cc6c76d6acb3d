package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
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

// TestPathsOfSimulatedNodes say so where there are hosts, and why.
func TestPathsOfSimulatedNodes(t *testing.T) {
	for _, cell := range planned(t, "switches", twoHosts(), Settings{}).Cells {
		if cell.Record.Skipped != "" {
			t.Errorf("%s, path %s: skipped for %q", cell.Record.Name, cell.Record.Path, cell.Record.Skipped)
		}
	}
}

// TestATeamOfHosts needs as many interfaces on each as it has links, and says what to write where there are fewer, or what is wrong with them.
func TestATeamOfHosts(t *testing.T) {
	for says, change := range map[string]func(b *Host){
		"": func(*Host) {},
		"2 links join its nodes, and node b has one interface for data: name the host's own address in the network of each link, `data=ADDRESS+ADDRESS`": func(b *Host) { b.Members = nil },
		"10.1.0.1/24 of a and 10.2.0.2/24 of b are of two networks":                                                                                      func(b *Host) { b.Members[0].Address = "10.2.0.2/24" },
		"node b: the interface ens6 cannot be taken for data: it is a port of another one": func(b *Host) {
			b.Members[0].Fixed = "the interface ens6 cannot be taken for data: it is a port of another one"
		},
		"its wire is to have 1 receive queues, the interface ens6 has 4, and its driver lets nobody set that": func(b *Host) { b.Members[0].Queues = 4 },
	} {
		host := twoHosts()
		for node, devices := range map[string][2]string{"a": {"eth2", "10.1.0.1/24"}, "b": {"ens6", "10.1.0.2/24"}} {
			h := host.Nodes[node]
			h.NIC.Queues, h.Members = 1, []NIC{{Device: devices[0], Address: devices[1], Queues: 1}}
			if node == "b" {
				change(&h)
			}
			host.Nodes[node] = h
		}
		for _, cell := range planned(t, "converged-jumbo", host, Settings{}).Cells {
			g, r := cell.Laid.Graph, cell.Record
			if r.Path == "team" && (!strings.Contains(r.Skipped, says) || says == "" && r.Skipped != "") {
				t.Errorf("%s: skipped for %q, not %q", r.Name, r.Skipped, says)
			}
			for _, n := range g.Nodes {
				if want := map[bool]int{true: 2, false: 1}[r.Path == "team"]; r.Skipped == "" && len(n.NICs()) != want {
					t.Errorf("%s, path %s: node %s uses %d interfaces", r.Name, r.Path, n.Name, len(n.NICs()))
				}
			}
			if r.Path != "team" && strings.HasSuffix(r.Name, "-none-half") && strings.Contains(r.Name, "single") && r.Skipped != "" {
				t.Errorf("%s needs one interface, and is skipped for %q", r.Name, r.Skipped)
			}
		}
	}
}

// TestQueuesOfHosts are set where interfaces are taken and their drivers can; cells that ask for others say what there is.
func TestQueuesOfHosts(t *testing.T) {
	const text = `
suite: queues
nodes: {a: {}, b: {}}
traffic: {kind: stream}
cells:
  one: {path: bridge, wire: {vmq: off, spread: none}, pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
  two: {like: one, wire: {vmq: auto, spread: auto, queues: 2}}
  both: {like: one, wire: {spread: both}}
  send: {like: one, wire: {spread: send}}
  vmq: {like: one, wire: {vmq: on}}
`
	spec, err := scenario.Parse([]byte(text), "queues.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	type channels = testbed.Channels
	combined := channels{Combined: 2, MostCombined: 4}
	for name, c := range map[string]struct {
		queues   int
		channels channels
		table    int
		says     [3]string // why the first cells are not measured; "": they are
		want     [3]testbed.Found
	}{
		"one alone":           {1, channels{}, 0, [3]string{"", "the interface ens5 has 1, and its driver lets nobody", ""}, [3]testbed.Found{{Receive: "queue", Send: "first"}, {}, {Receive: "rps", Send: "cpu"}}},
		"two alone":           {2, channels{}, 0, [3]string{"the interface ens5 has 2, and", "", ""}, [3]testbed.Found{{}, {}, {Receive: "rps", Send: "cpu"}}},
		"it does not say":     {0, channels{}, 0, [3]string{"ens5 does not say", "ens5 does not say", ""}, [3]testbed.Found{{}, {}, {Receive: "rps", Send: "cpu"}}},
		"set together":        {2, combined, 0, [3]string{}, [3]testbed.Found{{Queues: 1, SendQueues: 1, Receive: "queue", Send: "first"}, {Queues: 2, SendQueues: 2}, {Queues: 1, SendQueues: 1, Receive: "rps", Send: "cpu"}}},
		"set apart":           {1, channels{Receive: 1, Send: 1, MostReceive: 3, MostSend: 3}, 0, [3]string{}, [3]testbed.Found{{Queues: 1, SendQueues: 1, Receive: "queue", Send: "first"}, {Queues: 2, SendQueues: 2}, {Queues: 1, SendQueues: 2, Receive: "rps", Send: "cpu"}}},
		"no more than it has": {1, channels{Combined: 1, MostCombined: 1}, 0, [3]string{"", "takes at most 1 that receive and send alike", ""}, [3]testbed.Found{{Queues: 1, SendQueues: 1, Receive: "queue", Send: "first"}, {}, {Queues: 1, SendQueues: 1, Receive: "rps", Send: "cpu"}}},
		"a table":             {2, combined, 128, [3]string{}, [3]testbed.Found{{Queues: 1, SendQueues: 1, Receive: "queue", Send: "first"}, {Queues: 2, SendQueues: 2}, {Queues: 2, SendQueues: 2, Receive: "table", Send: "cpu"}}},
		"a table, two alone":  {2, channels{}, 128, [3]string{"", "", ""}, [3]testbed.Found{{Receive: "first", Send: "first"}, {}, {Queues: 2, Receive: "table", Send: "cpu"}}},
		"a table, one alone":  {1, channels{Combined: 1, MostCombined: 1}, 128, [3]string{"", "takes at most 1 that receive", ""}, [3]testbed.Found{{Queues: 1, SendQueues: 1, Receive: "queue", Send: "first"}, {}, {Queues: 1, SendQueues: 1, Receive: "rps", Send: "cpu"}}},
	} {
		host := twoHosts()
		b := host.Nodes["b"]
		host.Nodes["a"].NIC.Channels = channels{MostCombined: 8}
		b.CPUs, b.NIC.Queues, b.NIC.Channels, b.NIC.Table = []int{4, 5}, c.queues, c.channels, c.table
		host.Nodes["b"] = b
		p, err := MakePlan(spec, host, Settings{Budget: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.says {
			r := p.Cells[i].Record
			if (want == "") != (r.Skipped == "") || !strings.Contains(r.Skipped, want) {
				t.Errorf("%s: %s: skipped for %q", name, r.Name, r.Skipped)
			}
			if nic := p.Cells[i].Laid.Graph.Links[0].Ends[1]; r.Skipped == "" && (nic.Device != "ens5" || nic.Found != c.want[i] || nic.CPUAQueue) {
				t.Errorf("%s: %s: the real interface is %+v", name, r.Name, nic)
			}
			if q := r.Queueing; r.Skipped == "" && i != 1 && (q == nil || q.VMQ || q.Spreads() != (i == 2) || len(q.Hosts) != 2 || q.BehindQueues("b") != (c.want[i].Receive == "rps")) {
				t.Errorf("%s: %s: %+v", name, r.Name, q)
			}
		}
		if send := p.Cells[3]; name == "a table" && (send.Laid.Graph.Links[0].Ends[1].Found != testbed.Found{Queues: 2, SendQueues: 2, Receive: "first", Send: "cpu"} || send.Record.Queueing.Hosts[1].Queues != 1) {
			t.Errorf("%s: to send by both queues it is %+v", name, send.Laid.Graph.Links[0].Ends[1])
		}
		if vmq := p.Cells[4].Record.Skipped; !strings.Contains(vmq, "needs receive queues by destination") {
			t.Errorf("%s: vmq: skipped for %q", name, vmq)
		}
	}
}

// TestVMQOfHosts is by rules of their drivers, where they take some and their owners have none.
func TestVMQOfHosts(t *testing.T) {
	const text = `
suite: queues
nodes: {a: {}, b: {}}
traffic: {kind: stream}
cells:
  vmq: {path: bridge, wire: {vmq: on}, pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
  both: {like: vmq, wire: {spread: both}}
`
	spec, err := scenario.Parse([]byte(text), "queues.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*NIC)
		says   string
	}{
		"it takes some":      {func(*NIC) {}, ""},
		"it takes none":      {func(n *NIC) { n.Steers = false }, "the driver of ens5 takes no rules"},
		"its owner has some": {func(n *NIC) { n.Rules = 3 }, "ens5 has 3 rules of its owner's"},
		"it has no table":    {func(n *NIC) { n.Table = 0 }, "has no table by which all else"},
		"it has one queue":   {func(n *NIC) { n.Channels.MostCombined = 1 }, "2 receive queues, the interface ens5 has 1"},
	} {
		host := twoHosts()
		for node, h := range host.Nodes {
			h.CPUs = []int{4, 5}
			h.NIC.Queues, h.NIC.Channels, h.NIC.Table, h.NIC.Steers = 1, testbed.Channels{Combined: 1, MostCombined: 8}, 128, true
			host.Nodes[node] = h
		}
		c.change(host.Nodes["b"].NIC)
		p, err := MakePlan(spec, host, Settings{Budget: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for i, send := range []string{testbed.SendByFirst, testbed.SendByCPU} {
			r := p.Cells[i].Record
			if (c.says == "") != (r.Skipped == "") || !strings.Contains(r.Skipped, c.says) {
				t.Errorf("%s: %s: skipped for %q", name, r.Name, r.Skipped)
			}
			want := testbed.Found{Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByRules, Send: send}
			end := p.Cells[i].Laid.Graph.Links[0].Ends[1]
			if r.Skipped == "" && (end.Found != want || len(end.Behind) != 1 || end.Behind[0].MAC == "" || end.QueueBy != "" || !r.Queueing.VMQ) {
				t.Errorf("%s: %s: the real interface is %+v, its record %+v", name, r.Name, end, r.Queueing)
			}
		}
	}
}

// TestQueuesInHostsOwnStacks stay as they were found: cells that ask for them so run, and others say what there is.
func TestQueuesInHostsOwnStacks(t *testing.T) {
	const text = `
suite: queues
nodes: {a: {}, b: {}}
traffic: {kind: stream}
cells:
  one: {path: host-network, wire: {vmq: off, spread: none}, pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
  two: {like: one, wire: {vmq: auto, spread: auto, queues: 2}}
  spread: {like: one, wire: {spread: receive}}
`
	spec, err := scenario.Parse([]byte(text), "queues.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		queues   int
		steered  bool
		one, two string
	}{
		{queues: 1, two: "2 receive queues, and the interface ens5 has 1"},
		{queues: 2, one: "`ethtool -L ens5 combined 1`"},
		{queues: 0, one: "ens5 does not say", two: "ens5 does not say"},
		{queues: 1, steered: true, one: "rps_cpus", two: "ens5 has 1"},
	} {
		host := twoHosts()
		for node, h := range host.Nodes {
			h.Engine = &testbed.HostEngine{Socket: "/s"}
			host.Nodes[node] = h
		}
		a, b := host.Nodes["a"], host.Nodes["b"]
		a.NIC.Queues, b.NIC.Queues, b.NIC.Steered = AnyQueues, c.queues, c.steered
		b.NIC.Channels = testbed.Channels{MostCombined: 8}
		p, err := MakePlan(spec, host, Settings{Budget: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{c.one, c.two, "which CPU, takes which packets"} {
			if r := p.Cells[i].Record; (want == "") != (r.Skipped == "") || !strings.Contains(r.Skipped, want) {
				t.Errorf("%+v: %s: skipped for %q", c, r.Name, r.Skipped)
			}
		}
	}
}

// TestPortsOfTwoHosts meet by the conductor, those of one by themselves.
func TestPortsOfTwoHosts(t *testing.T) {
	const text = `
suite: ports
nodes: {a: {}, b: {}}
traffic: {kind: frame, size: 64B}
cells:
  apart: {path: testpmd, pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
  one: {path: testpmd, pairs: [{from: {container: s, on: a}, to: {container: r, on: a}}]}
  interfaces: {path: redirect, pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
`
	spec, err := scenario.Parse([]byte(text), "ports.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakePlan(spec, twoHosts(), Settings{Budget: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false} {
		cell := p.Cells[i]
		if cell.Record.Skipped != "" || onTwoHosts(cell.Laid.Graph, cell.Record.Pairs[0]) != want {
			t.Errorf("%s: skipped for %q, and on two hosts is not %t", cell.Record.Name, cell.Record.Skipped, want)
		}
	}
}

// TestProgramsOfHosts are asked of the host that runs them, by the name that they have on its architecture, and its machines' memory of it.
func TestProgramsOfHosts(t *testing.T) {
	const text = `
suite: machines
nodes: {a: {}, b: {}}
traffic: {kind: stream}
vm: {memory: 3GiB}
cells:
  there: {path: user-network, pairs: [{from: a, to: {vm: one, on: b}}]}
  passt: {like: there, path: {kind: user-network, by: passt}}
`
	spec, err := scenario.Parse([]byte(text), "machines.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	lacking := func(programs ...string) func(string) error {
		return func(program string) error {
			if slices.Contains(programs, program) {
				return errors.New("not there")
			}
			return nil
		}
	}
	const x86, arm = "qemu-system-x86_64", "qemu-system-aarch64"
	for _, c := range []struct {
		architecture string
		a, b         []string
		there, passt string
	}{
		{"arm64", []string{x86, arm, "passt"}, []string{x86}, "", ""},
		{"arm64", nil, []string{arm}, "node b: needs the program " + arm + ": apt-get install qemu-system-arm", "qemu-system-arm"},
		{"amd64", nil, []string{x86}, "node b: needs the program " + x86 + ": apt-get install qemu-system-x86", "qemu-system-x86"},
		{"amd64", []string{x86}, []string{arm, "passt"}, "", "node b: needs the program passt: apt-get install passt"},
	} {
		host := twoHosts()
		a, b := host.Nodes["a"], host.Nodes["b"]
		a.Architecture, a.Find, a.MemoryBytes = "amd64", lacking(c.a...), 1<<30
		a.Missing = map[string]string{testbed.FeatureTap: "none", testbed.FeatureKVM: "none"}
		b.Architecture, b.Find = c.architecture, lacking(c.b...)
		host.Nodes["a"], host.Nodes["b"] = a, b
		p, err := MakePlan(spec, host, Settings{Budget: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{c.there, c.passt} {
			r := p.Cells[i].Record
			if (want == "") != (r.Skipped == "") || !strings.Contains(r.Skipped, want) {
				t.Errorf("%+v: %s: skipped for %q", c, r.Name, r.Skipped)
			}
			if slices.ContainsFunc(r.Doubts, func(d result.Doubt) bool { return d.Kind == result.DoubtEmulated }) {
				t.Errorf("%s is emulated, as the host without a machine lacks KVM", r.Name)
			}
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

// verifying counts how often it is to compare what stands with the graph.
type verifying struct {
	Node
	name string
	done *atomic.Int32
}

func (v verifying) Name() string                        { return v.name }
func (v verifying) Verify(context.Context, Graph) error { v.done.Add(1); return nil }

// TestAPulledCableIsWaitedFor before the next trial of the same cell, which a real NIC takes seconds for.
func TestAPulledCableIsWaitedFor(t *testing.T) {
	p := planned(t, "converged-jumbo", small, Settings{Cells: []string{"team-1500", "team-pulled"}})
	p.OneAtATime = true
	for i, want := range []int32{0, 2} {
		var verified atomic.Int32
		c := Conductor{Plan: p, Nodes: []Node{verifying{name: "a", done: &verified}, verifying{name: "b", done: &verified}}}
		c.stands = p.Cells[i].Record.Name
		if err := c.stand(t.Context(), p.Cells[i]); err != nil || verified.Load() != want {
			t.Errorf("%s: %d nodes looked, %v", c.stands, verified.Load(), err)
		}
	}
}

// TestMTUOfHosts: what a driver cannot set is known before a cell is built, and cells that stay below it run.
func TestMTUOfHosts(t *testing.T) {
	host := twoHosts()
	for node, most := range map[string]int{"a": 0, "b": 1500} { // a does not say
		nic := *host.Nodes[node].NIC
		nic.MostMTU = most
		h := host.Nodes[node]
		h.NIC = &nic
		host.Nodes[node] = h
	}
	p := planned(t, "converged-jumbo", host, Settings{Cells: []string{"requests-4K-1500", "requests-4K-9000"}})
	for cell, says := range map[int]string{0: "", 1: "node b: its wire is to have an MTU of 9000, and the interface ens5 can have 1500 at most"} {
		if why := p.Cells[cell].Record.Skipped; !strings.Contains(why, says) || says == "" && strings.Contains(why, "MTU") {
			t.Errorf("%s: %q", p.Cells[cell].Record.Name, why)
		}
	}
}

// TestAstrayOfATeam: what its links carried together counts.
func TestAstrayOfATeam(t *testing.T) {
	host := twoHosts()
	for node, nic := range map[string]NIC{"a": {Device: "eth2", Address: "10.1.0.1/24", Queues: 1}, "b": {Device: "ens6", Address: "10.1.0.2/24", Queues: 1}} {
		h := host.Nodes[node]
		h.NIC.Queues, h.Members = 1, []NIC{nic}
		host.Nodes[node] = h
	}
	p := planned(t, "converged-jumbo", host, Settings{Cells: []string{"team-1500"}})
	c, cell := Conductor{Plan: p}, p.Cells[0]
	for _, of := range []struct {
		first, second uint64
		says          string
	}{{600000, 600000, ""}, {1200000, 0, ""}, {0, 1200000, ""}, {400000, 400000, "ens5 and ens6 of node b carried 800000 bytes in"}} {
		link := func(device string, rx, tx uint64, place string) result.LinkSample {
			return result.LinkSample{Place: place, Device: device, Role: result.RoleWire, RxBytes: rx, TxBytes: tx}
		}
		why := c.astray(cell, result.Trial{
			Pairs: []result.PairSample{{Sender: result.PairEnd{Bytes: 1000000}, Receiver: result.PairEnd{Bytes: 1000000}}},
			Nodes: map[string]result.NodeSample{"a": {Links: []result.LinkSample{link("eth1", 0, 1200000, "a"), link("eth2", 0, 0, "a")}},
				"b": {Links: []result.LinkSample{link("ens5", of.first, 0, "b"), link("ens6", of.second, 0, "b")}}},
		})
		if (of.says == "") != (why == "") || !strings.Contains(why, of.says) {
			t.Errorf("%+v: %q", of, why)
		}
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
	frames := func(in, out uint64) result.Trial {
		t := trial(in, out)
		t.Pairs[0].Receiver = result.PairEnd{Bytes: 64 * 10000, Packets: 10000, Frames: &result.Frames{Size: 64}}
		return t
	}
	if why := c.astray(cell, frames(46*10000, 46*10000)); why != "" { // a virtual pair's
		t.Error(why)
	}
	for _, off := range []result.Trial{frames(46*10000, 40*10000), trial(1050000, 70), trial(70, 1050000)} {
		if why := c.astray(cell, off); !strings.Contains(why, "another way") {
			t.Errorf("%q", why)
		}
	}
}
