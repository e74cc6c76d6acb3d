package testbed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"windtunnel/result"
)

// overlay is a graph with one of everything, on one node of two.
func overlay() Graph {
	nic := func(place, mac string) Interface {
		return Interface{
			Place: place, Device: "nic0", MAC: mac, MTU: 1500, Addresses: []string{"172.16.0.11/24"},
			Offloads: map[string]bool{TSO: false, GRO: true}, Steering: SteerThreaded,
		}
	}
	return Graph{
		Cell:       "X",
		Nodes:      []Node{{Name: "a", CPUs: []int{0}}, {Name: "b", CPUs: []int{1}}},
		Containers: []Container{{Name: "c", Node: "a"}},
		Bridges:    []Bridge{{Name: "switch", Node: "a", Device: "br0", MTU: 1450}},
		Links: []Link{
			{Name: "wire", Role: result.RoleWire, Kind: "nic", Ends: [2]Interface{nic("a", "02:00:00:00:00:01"), nic("b", "02:00:00:00:00:02")}},
			{Name: "endpoint", Role: result.RoleEndpoint, Ends: [2]Interface{
				{Place: "c", Device: "eth0", MTU: 1450, Addresses: []string{"10.0.0.1/24"}, Routes: []Route{{Prefix: "10.1.0.0/16", Gateway: "10.0.0.2"}}},
				{Place: "a", Device: "v-c", MTU: 1450, Bridge: "switch"},
			}},
		},
		VXLANs: []VXLAN{{
			Name: "tunnel", Node: "a", Device: "vx0", VNI: 7, Local: "172.16.0.11", Remote: "172.16.0.12",
			Port: 4789, Underlay: "nic0", Bridge: "switch", MTU: 1450,
		}},
		Daemons: []Daemon{{Name: "agent", Node: "a", Drawn: "AGENT", Program: "agent", Args: []string{"--dir", "{dir}"}, Files: map[string]string{"x": "1", "y": "2"},
			Needs: []string{"bpf"}, Environment: []string{"X=1"}, Before: []Command{{"make", []string{"ready"}}}, After: []Command{{"go", []string{"on"}}}}},
	}
}

func lines(changes []Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.String())
	}
	return all
}

func TestDiffMakesFromTheBottomUp(t *testing.T) {
	want := []string{
		"make node a: CPUs 0",
		"make node b: CPUs 1",
		"make container c: on a",
		"make bridge switch: a/br0, MTU 1450",
		"make link wire: nic wire a/nic0 - b/nic0, MTU 1500",
		"make link endpoint: endpoint c/eth0 - a/v-c, MTU 1450",
		"make vxlan tunnel: a/vx0, VNI 7, 172.16.0.11 - 172.16.0.12 port 4789, MTU 1450",
		"make daemon agent: a: agent --dir {dir}",
	}
	if got := lines(Diff(Graph{}, overlay())); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestDiffRemovesFromTheTopDown(t *testing.T) {
	want := []string{
		"remove daemon agent", "remove vxlan tunnel", "remove link endpoint", "remove link wire",
		"remove bridge switch", "remove container c", "remove node b", "remove node a",
	}
	if got := lines(Diff(overlay(), Graph{Cell: "X"})); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestDiffOfOneChange(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Graph)
		want   []string
	}{
		{"nothing", func(*Graph) {}, nil},
		{"MTU", func(g *Graph) { g.Links[0].Ends[0].MTU, g.Links[0].Ends[1].MTU = 1400, 1400 },
			[]string{"set link wire: a/nic0 mtu 1500 -> 1400", "set link wire: b/nic0 mtu 1500 -> 1400"}},
		{"address", func(g *Graph) { g.Links[1].Ends[0].Addresses = []string{"10.0.0.1/24", "10.0.0.3/24"} },
			[]string{"set link endpoint: c/eth0 addresses 10.0.0.1/24 -> 10.0.0.1/24,10.0.0.3/24"}},
		{"route", func(g *Graph) { g.Links[1].Ends[0].Routes = nil },
			[]string{"set link endpoint: c/eth0 routes 10.1.0.0/16 10.0.0.2 -> none"}},
		{"offload", func(g *Graph) { g.Links[0].Ends[0].Offloads[TSO] = true },
			[]string{"set link wire: a/nic0 tso off -> on"}},
		{"another offload", func(g *Graph) { g.Links[0].Ends[0].Offloads[GSO] = false },
			[]string{"set link wire: a/nic0 gso none -> off"}},
		{"steering", func(g *Graph) { g.Links[0].Ends[0].Steering = SteerRPS },
			[]string{"set link wire: a/nic0 steering threaded -> rps"}},
		{"rate", func(g *Graph) { g.Links[0].Ends[0].BitsPerSecond = 1e9 },
			[]string{"set link wire: a/nic0 rate none -> 1e+09 bit/s"}},
		{"loss", func(g *Graph) { g.Links[0].Ends[1].Loss = 0.01 },
			[]string{"set link wire: b/nic0 loss none -> 1 %"}},
		{"port", func(g *Graph) { g.Links[1].Ends[1].Bridge = "" },
			[]string{"set link endpoint: a/v-c bridge switch -> none"}},
		{"MAC", func(g *Graph) { g.Links[0].Ends[0].MAC = "02:00:00:00:00:03" },
			[]string{"set link wire: a/nic0 mac 02:00:00:00:00:01 -> 02:00:00:00:00:03"}},
		{"CPUs", func(g *Graph) { g.Nodes[0].CPUs = []int{0, 1} }, []string{"set node a: cpus 0 -> 0 1"}},
		{"a daemon's file", func(g *Graph) { g.Daemons[0].Files = map[string]string{"x": "1", "y": "3"} },
			[]string{"remove daemon agent", "make daemon agent: a: agent --dir {dir}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := overlay()
			c.change(&want)
			if got := lines(Diff(overlay(), want)); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// What stands on a rebuilt device is rebuilt, and nothing else.
func TestDiffRebuilds(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Graph)
		rebuilt []string
	}{
		{"queues", func(g *Graph) { g.Links[0].Ends[0].Queues = 2 }, []string{"daemon agent", "vxlan tunnel", "link wire"}},
		{"an offload as found", func(g *Graph) { delete(g.Links[0].Ends[0].Offloads, TSO) }, []string{"daemon agent", "vxlan tunnel", "link wire"}},
		{"a MAC as found", func(g *Graph) { g.Links[0].Ends[0].MAC = "" }, []string{"daemon agent", "vxlan tunnel", "link wire"}},
		{"the switch's device", func(g *Graph) { g.Bridges[0].Device = "br1" }, []string{"daemon agent", "vxlan tunnel", "link endpoint", "bridge switch"}},
		{"the VNI", func(g *Graph) { g.VXLANs[0].VNI = 8 }, []string{"daemon agent", "vxlan tunnel"}},
		{"the container's node", func(g *Graph) {
			g.Containers[0].Node = "b"
			g.Links[1].Ends[1].Place = "b"
			g.Links[1].Ends[1].Bridge = ""
		},
			[]string{"link endpoint", "container c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := overlay()
			c.change(&want)
			var removed, made []string
			for _, change := range Diff(overlay(), want) {
				name := fmt.Sprint(change.Kind, " ", change.Name)
				switch change.Do {
				case Remove:
					removed = append(removed, name)
				case Make:
					made = append(made, name)
				}
			}
			slices.Reverse(made)
			if !slices.Equal(removed, c.rebuilt) || !slices.Equal(made, c.rebuilt) {
				t.Errorf("removed %v, made %v (reversed), want %v", removed, made, c.rebuilt)
			}
		})
	}
}

func TestPart(t *testing.T) {
	g := overlay()
	a, b := g.Part("a"), g.Part("b")
	if got := a.Places(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("places of a: %v", got)
	}
	if len(a.Links) != 2 || len(b.Links) != 1 || b.Links[0].Name != "wire" || len(b.Daemons)+len(b.VXLANs)+len(b.Bridges) > 0 {
		t.Errorf("parts %+v\n%+v", a, b)
	}
	if a.Owner(a.Links[0]) != "a" || b.Owner(b.Links[0]) != "" {
		t.Error("the wire belongs to a, and b's part cannot tell whose it is but that it is not b's")
	}
	if none := g.Part("z"); len(none.Places())+len(none.Links) > 0 {
		t.Errorf("the part of a node that is not there: %+v", none)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	g := overlay()
	c := g.Clone()
	if changes := Diff(g, c); len(changes) > 0 {
		t.Errorf("the clone differs: %v", changes)
	}
	g.Nodes[0].CPUs[0], g.Links[0].Ends[0].MTU, g.Links[0].Ends[0].Addresses[0] = 9, 9000, "x"
	g.Links[0].Ends[0].Offloads[TSO], g.Links[1].Ends[0].Routes[0].Gateway = true, "x"
	g.Daemons[0].Files["x"], g.Daemons[0].Args[0], g.Daemons[0].Needs[0], g.Daemons[0].Environment[0] = "x", "x", "x", "x"
	g.Daemons[0].Before[0].Args[0], g.Daemons[0].After[0].Args[0] = "x", "x"
	if changes := Diff(c, overlay()); len(changes) > 0 {
		t.Errorf("the clone changed with the original: %v", changes)
	}
}
