package paths_test

import (
	"strings"
	"testing"
	"time"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/testbed"
)

func TestTeamIsRefusedWhereThereIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		request datapath.Request
		says    string
	}{
		"one node":  {request("nic", datapath.SegmentationFound, containers("a", "a")), "use two nodes"},
		"processes": {request("nic", datapath.SegmentationFound, processes()), "joins containers"},
		"two pulls": {with(request("nic", datapath.SegmentationFound, twoPairs()...), "pull", true), "take one"},
	} {
		p, _ := paths.ByName("team")
		if _, err := p.Lay(c.request); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

// A team that is not told how takes a bond where the kernels have those, and says so; what is asked for is taken as it is.
func TestTeamTakesABondWhereThereIsOne(t *testing.T) {
	p, _ := paths.ByName("team")
	lacking := map[string]string{testbed.FeatureBonding: "this kernel has no bonding devices"}
	for _, c := range []struct {
		asked   string
		missing map[string]string
		by      string
		doubts  int
	}{
		{"", nil, "bond", 0}, {"auto", nil, "bond", 0}, {"auto", lacking, "route", 1},
		{"route", nil, "route", 0}, {"route", lacking, "route", 0}, {"bond", lacking, "bond", 0},
	} {
		r := request("nic", datapath.SegmentationFound, containers("a", "b"))
		r.Missing = c.missing
		if c.asked != "" {
			r.Options["by"] = c.asked
		}
		laid, err := p.Lay(r)
		if err != nil {
			t.Fatal(err)
		}
		if laid.Options["by"] != c.by || laid.Facts[datapath.FactJoined] != c.by || (len(laid.Graph.Bonds) > 0) != (c.by == "bond") || (len(laid.Graph.Routes) > 0) != (c.by == "route") {
			t.Errorf("%+v: joined by %v, %v, %d bonds and %d routes", c, laid.Options["by"], laid.Facts, len(laid.Graph.Bonds), len(laid.Graph.Routes))
		}
		if len(laid.Doubts) != c.doubts || c.doubts > 0 && !strings.Contains(laid.Doubts[0].Says, "this kernel has no bonding devices") {
			t.Errorf("%+v: doubts %v", c, laid.Doubts)
		}
		if r.Options["by"] != any(c.asked) && c.asked != "" {
			t.Errorf("%+v: what was asked for is %v now", c, r.Options["by"])
		}
	}
}

// Flows take both members, a pulled member's flows come over the other one, and take it again afterwards.
func TestTeam(t *testing.T) {
	r := routed(with(request("nic", datapath.SegmentationFound, containers("a", "b")), "pull", true))
	b := raise(t, "team", r)
	sent := func() (by [2]float64) {
		for i, device := range []string{"nic0", "nic1"} {
			by[i] = b.counters(t, "a", device).txBytes
		}
		return by
	}
	grown := func(flows int) (by [2]float64) {
		before := sent()
		for range flows {
			b.send(t, "sender", "receiver", 1<<20)
		}
		after := sent()
		return [2]float64{after[0] - before[0], after[1] - before[1]}
	}
	// Of sixteen flows all take one member once in 32,768 runs.
	if by := grown(16); by[0] < 1<<20 || by[1] < 1<<20 {
		t.Errorf("members took %v bytes", by)
	}
	set := func(up bool) {
		t.Helper()
		if err := b.nodes["b"].Pull(r.Cell, "b", "nic0", !up); err != nil {
			t.Fatal(err)
		}
	}
	set(false)
	if by := grown(8); by[0] > 1<<20 {
		t.Errorf("members took %v bytes while the first was pulled", by)
	}
	set(true)
	// The kernel looks at carriers once a second (net/core/link_watch.c).
	for until := time.Now().Add(10 * time.Second); ; {
		if by := grown(4); by[0] > 1<<20 {
			break
		} else if time.Now().After(until) {
			t.Fatalf("the first member takes nothing after it came back: %v", by)
		}
	}
	b.apply(t, b.laid.Graph) // what stands is what was asked for
	b.apply(t, testbed.Graph{Cell: r.Cell})
}
