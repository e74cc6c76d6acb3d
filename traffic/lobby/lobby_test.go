package lobby

import (
	"slices"
	"testing"
)

func TestAGroupIsCompleteWithItsLastFlow(t *testing.T) {
	var y Lobby[int, string]
	a, b := Token{1}, Token{2}
	for i, flow := range []string{"a0", "a1"} {
		g, gone := y.Join(a, 7, i, 3, flow)
		if g == nil || g.Complete() || gone != nil {
			t.Fatalf("flow %d: %+v, %v", i, g, gone)
		}
	}
	if g, _ := y.Join(b, 9, 0, 1, "b0"); g == nil || !g.Complete() || g.About != 9 {
		t.Errorf("the other group: %+v", g)
	}
	g, _ := y.Join(a, 7, 2, 3, "a2")
	if g == nil || !g.Complete() || !slices.Equal(g.Flows, []string{"a0", "a1", "a2"}) {
		t.Errorf("the last flow: %+v", g)
	}
	if gone := y.Clear(g); !slices.Equal(gone, []string{"b0"}) || y.Find(a) != nil {
		t.Errorf("cleared: %v", gone)
	}
}

func TestAFlowThatContradictsIsNotTaken(t *testing.T) {
	var y Lobby[int, string]
	token := Token{1}
	y.Join(token, 7, 1, 3, "first")
	for name, join := range map[string]func() (*Group[int, string], []string){
		"same place":  func() (*Group[int, string], []string) { return y.Join(token, 7, 1, 3, "x") },
		"other total": func() (*Group[int, string], []string) { return y.Join(token, 7, 3, 4, "x") },
		"other word":  func() (*Group[int, string], []string) { return y.Join(token, 8, 0, 3, "x") },
	} {
		if g, gone := join(); g != nil || gone != nil {
			t.Errorf("%s: %+v, %v", name, g, gone)
		}
	}
	g := y.Find(token)
	if got := g.Present(); !slices.Equal(got, []string{"first"}) || g.In(0) || !g.In(1) || g.In(3) {
		t.Errorf("the group has %v", got)
	}
}

func TestTheOldestGroupMakesWay(t *testing.T) {
	var y Lobby[int, int]
	for i := range maxGroups {
		y.Join(Token{byte(i)}, 0, 0, 2, i)
	}
	if _, gone := y.Join(Token{0xff}, 0, 1, 2, 99); !slices.Equal(gone, []int{0}) {
		t.Errorf("gone: %v", gone)
	}
	if y.Find(Token{0}) != nil || y.Find(Token{1}) == nil || y.Find(Token{0xff}) == nil {
		t.Error("another than the oldest made way")
	}
}

// TestWhoIsTurnedAwayIsSoAtAllFlows, those that came and those that come; others, and senders without a name, are not.
func TestWhoIsTurnedAwayIsSoAtAllFlows(t *testing.T) {
	var y Lobby[int, string]
	if y.TurnedAway(Token{}) {
		t.Error("nobody was turned away")
	}
	y.Join(Token{1}, 0, 0, 3, "came")
	y.Join(Token{2}, 0, 0, 3, "another's")
	if gone := y.TurnAway(Token{1}); !slices.Equal(gone, []string{"came"}) {
		t.Errorf("gone: %v", gone)
	}
	if !y.TurnedAway(Token{1}) || y.TurnedAway(Token{2}) || y.Find(Token{1}) != nil || y.Find(Token{2}) == nil {
		t.Error("another was turned away than was meant")
	}
	if gone := y.TurnAway(Token{3}); gone != nil || !y.TurnedAway(Token{3}) || y.TurnedAway(Token{1}) {
		t.Errorf("of one that had no flow yet: %v", gone)
	}
}
