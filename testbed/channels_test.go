package testbed

import "testing"

func TestChannelsWith(t *testing.T) {
	combined := Channels{Combined: 4, MostCombined: 8}
	apart := Channels{Receive: 1, Send: 1, MostReceive: 4, MostSend: 2}
	either := Channels{Combined: 4, MostCombined: 8, MostReceive: 8, MostSend: 8}
	for _, c := range []struct {
		name          string
		has           Channels
		receive, send int
		want          string // "": it cannot
	}{
		{"fewer", combined, 1, 1, "rx 0, tx 0, combined 1"},
		{"as they are", combined, 4, 4, "rx 0, tx 0, combined 4"},
		{"too many", combined, 9, 9, ""},
		{"unequal of combined ones", combined, 1, 2, ""},
		{"apart", apart, 4, 2, "rx 4, tx 2, combined 0"},
		{"too many to send", apart, 1, 3, ""},
		{"alike of either kind", either, 2, 2, "rx 0, tx 0, combined 2"},
		{"unequal of either kind", either, 1, 2, ""},
		{"none", apart, 0, 1, ""},
		{"of a driver without", Channels{}, 1, 1, ""},
	} {
		got, able := c.has.With(c.receive, c.send)
		if able != (c.want != "") || able && got.String() != c.want || able && (got.MostCombined != c.has.MostCombined || got.MostSend != c.has.MostSend) {
			t.Errorf("%s: %v, %v", c.name, got, able)
		}
	}
	if most := apart.MostToSend(); most != 2 || either.MostToReceive() != 8 {
		t.Error(most)
	}
	if !either.Possible() || (Channels{Send: -1}).Possible() || (Channels{MostCombined: 1 << 20}).Possible() {
		t.Error("what is possible")
	}
}

// TestFoundQueuesAreOfTakenInterfacesAlone, and of known words.
func TestFoundQueuesAreOfTakenInterfacesAlone(t *testing.T) {
	nic := &NIC{Device: "eth1", Address: "10.0.0.1/24"}
	end := func(place string) Interface { return Interface{Place: place, Device: "eth1", MTU: 1500} }
	graph := func() Graph {
		return Graph{Cell: "A", Nodes: []Node{{Name: "a", NIC: nic}, {Name: "b", NIC: nic}},
			Links: []Link{{Name: "wire", Role: "wire", Kind: WireNetwork, Ends: [2]Interface{end("a"), end("b")}}}}
	}
	for name, c := range map[string]struct {
		change func(g *Graph, f *Found)
		well   bool
	}{
		"well":      {func(_ *Graph, f *Found) { *f = Found{Queues: 2, SendQueues: 1, Receive: ReceiveByRPS, Send: SendByCPU} }, true},
		"made":      {func(g *Graph, f *Found) { g.Links[0].Kind, f.Queues = "nic", 1 }, false},
		"in place":  {func(g *Graph, f *Found) { g.Nodes[0].InPlace, f.Queues = true, 1 }, false},
		"too many":  {func(_ *Graph, f *Found) { f.SendQueues = 1 << 20 }, false},
		"less":      {func(_ *Graph, f *Found) { f.Queues = -1 }, false},
		"one alone": {func(_ *Graph, f *Found) { f.Queues, f.Receive = 1, ReceiveByTable }, false},
		"a word":    {func(_ *Graph, f *Found) { f.Receive = "somehow" }, false},
		"a sending": {func(_ *Graph, f *Found) { f.Send = "somehow" }, false},
	} {
		g := graph()
		c.change(&g, &g.Links[0].Ends[0].Found)
		if err := Validate(g); (err == nil) != c.well {
			t.Errorf("%s: %v", name, err)
		}
	}
	changed := graph()
	changed.Links[0].Ends[0].Found.Queues = 1
	if got := lines(Diff(graph(), changed)); len(got) != 2 {
		t.Errorf("other queues are %q: a wire is released and adopted anew", got)
	}
}
