package testbed

import (
	"strings"
	"testing"

	"windtunnel/result"
)

func teamGraph() Graph {
	end := func(place string) Interface { return Interface{Place: place, Device: "nic0", MTU: 1500} }
	return Graph{
		Cell:   "A",
		Nodes:  []Node{{Name: "a"}, {Name: "b"}},
		Links:  []Link{{Name: "wire", Role: result.RoleWire, Ends: [2]Interface{end("a"), end("b")}, Pull: &Pull{Node: "b", From: 0.25, To: 0.75}}},
		Routes: []Multipath{{Name: "team", Node: "a", Prefix: "10.0.0.0/24", Hops: []Hop{{Device: "nic0", Gateway: "172.16.0.12"}}}},
	}
}

func TestMultipathFaults(t *testing.T) {
	if err := Validate(teamGraph()); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Graph){
		"not an IPv4 prefix":          func(g *Graph) { g.Routes[0].Prefix = "10.0.0.1/24" },
		"it has 0 ways":               func(g *Graph) { g.Routes[0].Hops = nil },
		"is not an IPv4 address":      func(g *Graph) { g.Routes[0].Hops[0].Gateway = "fd00::1" },
		"a/nic1 is not in the graph":  func(g *Graph) { g.Routes[0].Hops[0].Device = "nic1" },
		"which is no node":            func(g *Graph) { g.Routes[0].Node = "c" },
		"where it has no end":         func(g *Graph) { g.Links[0].Pull.Node = "c" },
		"give shares of it, in order": func(g *Graph) { g.Links[0].Pull.To = 0.1 },
	} {
		g := teamGraph()
		spoil(&g)
		if err := Validate(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A route that changes, or whose link does, is made anew; a clone shares nothing.
func TestMultipathDiff(t *testing.T) {
	have, want := teamGraph(), teamGraph()
	if changes := Diff(have, want); len(changes) != 0 {
		t.Error(changes)
	}
	copied := have.Clone()
	copied.Routes[0].Hops[0].Gateway, copied.Links[0].Pull.To = "172.16.0.13", 1
	if have.Routes[0].Hops[0].Gateway != "172.16.0.12" || have.Links[0].Pull.To != 0.75 {
		t.Error("a clone shares its routes or pulls")
	}
	want.Links[0].Ends[0].Queues = 4
	var said []string
	for _, change := range Diff(have, want) {
		said = append(said, string(change.Do)+" "+string(change.Kind))
	}
	if got := strings.Join(said, ", "); got != "remove route, remove link, make link, make route" {
		t.Error(got)
	}
}
