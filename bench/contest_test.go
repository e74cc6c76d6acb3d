package bench

import (
	"math"
	"strings"
	"testing"
)

func TestTheBestPeerIsTheOneOverAllRounds(t *testing.T) {
	c := NewContest("rate", Goal{Ratio: 1}, []string{"steady", "lucky once", "never there"}, map[string]float64{"lucky once": 1.2, "absent": 3})
	if rows := c.Rows(); rows != nil {
		t.Errorf("rows before any round: %v", rows)
	}
	for round := range 8 {
		lucky := 1.0
		if round == 0 {
			lucky = 3
		}
		c.Add(2, []float64{2, lucky, 0})
	}
	rows := c.Rows()
	if len(rows) != 3 {
		t.Fatalf("%d rows, want the best's, one goal's, and one of the peer that was never there", len(rows))
	}
	if !strings.HasSuffix(rows[0].What, "over the best, steady") || rows[0].Estimate().Estimate != 1 || rows[0].Verdict() != Holds {
		t.Errorf("best: %s", rows[0].Row())
	}
	if !strings.HasSuffix(rows[1].What, ", over lucky once") || rows[1].Goal.Ratio != 1.2 {
		t.Errorf("alone: %s", rows[1].Row())
	}
	if !strings.HasSuffix(rows[2].What, ", over never there") || rows[2].Verdict() != None || !Decided(rows[2:]) {
		t.Errorf("never there: %s", rows[2].Row())
	}
}

// TestAGoalOverAPeerThatFailedIsNotMeasured, and the peer has one row.
func TestAGoalOverAPeerThatFailedIsNotMeasured(t *testing.T) {
	c := NewContest("rate", Goal{Ratio: 1}, []string{"steady", "gone"}, map[string]float64{"gone": 1.2})
	c.Add(2, []float64{2, 0})
	rows := c.Rows()
	if len(rows) != 2 || rows[1].Verdict() != None || rows[1].Why == "" || rows[1].Goal.Ratio != 1.2 {
		t.Fatalf("%d rows, the last %+v", len(rows), rows[len(rows)-1])
	}
}

func TestOnlyPeersFarBehindAreHopeless(t *testing.T) {
	names := []string{"best", "close", "far", "far but asked for", "without a figure"}
	figures := []float64{10, 8, 5, 5, 0}
	rate := NewContest("rate", Goal{Ratio: 1}, names, map[string]float64{"far but asked for": 1.5})
	cost := NewContest("cost", Goal{Ratio: 1, AtMost: true}, names, map[string]float64{"far but asked for": 1.5})
	for range hopelessRounds {
		for peer := range names {
			if rate.Hopeless(peer) || cost.Hopeless(peer) {
				t.Fatalf("%s is hopeless before round %d", names[peer], hopelessRounds)
			}
		}
		rate.Add(9, figures)
		costs := make([]float64, len(figures))
		for i, f := range figures {
			costs[i] = 1 / f // +Inf for the last
		}
		cost.Add(1./9, costs)
	}
	for peer, want := range []bool{false, false, true, false, true} {
		if rate.Hopeless(peer) != want || cost.Hopeless(peer) != want {
			t.Errorf("%s: rate %v, cost %v, want %v", names[peer], rate.Hopeless(peer), cost.Hopeless(peer), want)
		}
	}
	if row := cost.Rows()[0]; math.Abs(row.Estimate().Estimate-10./9) > 1e-9 {
		t.Errorf("the least cost is the best's: %s", row.Row())
	}
}
