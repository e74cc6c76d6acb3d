package testbed

import (
	"slices"
	"testing"
)

// polled is the overlay with a port of poll mode that its daemon holds.
func polled() Graph {
	g := overlay()
	g.Daemons[0].Socket = "{dir}/agent.sock"
	g.Ports = []Port{{Name: "port", Place: "c", Tester: "agent", MAC: "02:00:00:00:00:01", NextHop: "02:00:00:00:00:02", Address: "10.0.0.9/24", MTU: 1500}}
	return g
}

// A port is made anew with its tester, which opened it, and is part of its node alone.
func TestPortStandsOnItsTester(t *testing.T) {
	changed := polled()
	changed.Daemons[0].Args = []string{"--other"}
	want := []string{"remove port port", "remove daemon agent", "make daemon agent: a: agent --other", "make port port: c at agent, 10.0.0.9/24, MTU 1500"}
	if got := lines(Diff(polled(), changed)); !slices.Equal(got, want) {
		t.Errorf("got %q, not %q", got, want)
	}
	if a, b := len(polled().Part("a").Ports), len(polled().Part("b").Ports); a != 1 || b != 0 {
		t.Errorf("%d ports on a, %d on b", a, b)
	}
	clone := polled().Clone()
	clone.Ports[0].MTU = 9000
	if len(Diff(polled(), clone)) == 0 || polled().Ports[0].MTU == 9000 {
		t.Error("a port's MTU makes no difference, or was changed in the original")
	}
}
