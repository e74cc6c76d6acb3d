package testbed

import (
	"strings"
	"testing"
)

// bondGraph is teamGraph by a bond of one member on node a, a port of a bridge.
func bondGraph() Graph {
	g := teamGraph()
	g.Routes = nil
	g.Bridges = []Bridge{{Name: "switch", Node: "a", Device: "br0", MTU: 1500}}
	g.Bonds = []Bond{{Name: "team", Node: "a", Device: "bond0", MTU: 1500, Bridge: "switch", MonitorMilliseconds: 100, Offloads: map[string]bool{GRO: true}}}
	g.Links[0].Ends[0].Bridge = "team"
	return g
}

func TestBondFaults(t *testing.T) {
	if err := Validate(bondGraph()); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Graph){
		"which is no node":                   func(g *Graph) { g.Bonds[0].Node = "c" },
		"it looks at carriers every 0 ms":    func(g *Graph) { g.Bonds[0].MonitorMilliseconds = 0 },
		"bond team has no members":           func(g *Graph) { g.Links[0].Ends[0].Bridge = "" },
		"has an MTU of 9000, not 1500":       func(g *Graph) { g.Links[0].Ends[0].MTU = 9000 },
		"or addresses, which are the bond's": func(g *Graph) { g.Links[0].Ends[0].Addresses = []string{"10.0.0.1/24"} },
		`bond team is a port of "nowhere"`:   func(g *Graph) { g.Bonds[0].Bridge = "nowhere" },
		"both have the device a/bond0":       func(g *Graph) { g.Bridges[0].Device = "bond0" },
	} {
		g := bondGraph()
		spoil(&g)
		if err := Validate(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A bond that is made anew takes its members along; its MTU is set in place; a clone shares nothing.
func TestBondDiff(t *testing.T) {
	have, want := bondGraph(), bondGraph()
	if changes := Diff(have, want); len(changes) != 0 {
		t.Error(changes)
	}
	copied := have.Clone()
	copied.Bonds[0].Offloads[GRO] = false
	if !have.Bonds[0].Offloads[GRO] {
		t.Error("a clone shares its bonds")
	}
	said := func() string {
		var all []string
		for _, change := range Diff(have, want) {
			all = append(all, string(change.Do)+" "+string(change.Kind))
		}
		return strings.Join(all, ", ")
	}
	want.Bonds[0].MonitorMilliseconds = 50
	if got := said(); got != "remove link, remove bond, make bond, make link" {
		t.Error(got)
	}
	want = bondGraph()
	want.Bonds[0].MTU = 1400
	if got := said(); got != "set bond" {
		t.Error(got)
	}
}
