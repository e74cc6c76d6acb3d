package fake_test

import (
	"testing"
	"time"

	"windtunnel/analysis"
	"windtunnel/result"
	"windtunnel/run/fake"
)

// planted are the rates of a ratio's cells and of those that try its suspects, and the shares of the gap that these give
// back: of 1 - log(B'/A') / log(B/A).
var planted = map[string]fake.Truth{
	"A": {BitsPerSecond: 8e9}, "B": {BitsPerSecond: 2e9},
	"B+tso": {BitsPerSecond: 4e9},                                // half of a factor of four
	"B+gro": {BitsPerSecond: 1e9}, "A+gro": {BitsPerSecond: 2e9}, // the same
	"B+mtu": {BitsPerSecond: 3e9}, "A+mtu": {BitsPerSecond: 12e9}, // nothing
	"B+cpu": {BitsPerSecond: 1e9}, // half of it the other way
}

var plantedShares = map[string]float64{"tso": 0.5, "gro": 0.5, "mtu": 0, "cpu": -0.5}

func explained(t *testing.T, seed uint64, budget time.Duration, noise fake.Noise) *analysis.Recovered {
	t.Helper()
	cells := []string{"A", "B", "B+tso", "B+gro", "A+gro", "B+mtu", "A+mtu", "B+cpu"}
	p := plan(seed, budget, 0.05, over, cells...)
	p.Suite.Why = &result.Why{Ratio: over[0]}
	for i, name := range cells[2:] {
		both := name[2:] == "gro" || name[2:] == "mtu"
		p.Cells[i+2].Record.Intervention = &result.Intervention{Ratio: over[0], Of: name[:1], Factor: name[2:], Both: both, Says: name[2:]}
	}
	out := &records{}
	if _, err := conduct(fake.New(seed, planted, noise), p, out, silent{}); err != nil {
		t.Fatal(err)
	}
	return analysis.Of(result.File{Run: out.run, Cells: out.cells, Trials: out.trials, End: &out.end}).Recovered
}

// TestRecoveredSharesAreTrue runs suspects with planted shares through the whole conductor, with the noise of a real
// machine and the real stopping rule: in at least 95 % of runs every share lies within its bounds.
func TestRecoveredSharesAreTrue(t *testing.T) {
	const runs = 120
	missed, told := 0, 0
	for seed := range uint64(runs) {
		r := explained(t, seed, 4*time.Minute, fake.Realistic)
		wrong := false
		for _, f := range r.Factors {
			if f.Share.Known() {
				told++
				want := plantedShares[f.Name]
				wrong = wrong || want < *f.Share.Low || want > *f.Share.High
			}
		}
		if wrong {
			missed++
		}
	}
	t.Logf("%d of %d runs have a share outside of its bounds; %d of %d shares were told", missed, runs, told, runs*len(plantedShares))
	if missed > runs*5/100 {
		t.Errorf("%d of %d runs have a share outside of its bounds", missed, runs)
	}
	if told < runs*len(plantedShares)*9/10 {
		t.Errorf("%d of %d shares were told", told, runs*len(plantedShares))
	}
}

// TestWhatGivesMostBackComesFirst in a little noise.
func TestWhatGivesMostBackComesFirst(t *testing.T) {
	for seed := range uint64(20) {
		r := explained(t, seed, 4*time.Minute, fake.Noise{Trial: 0.02, Drift: 0.02})
		var order []string
		for _, f := range r.Factors {
			order = append(order, f.Name)
		}
		if len(order) != 4 || order[2] != "mtu" || order[3] != "cpu" || !r.Factors[0].Distinct() || r.Factors[2].Distinct() || len(r.Untested) > 0 {
			t.Errorf("seed %d: %v, not tried %v", seed, order, r.Untested)
		}
	}
}

// TestASuspectThatCannotBeBuiltIsNotTried, and no share is told of a gap that is none.
func TestASuspectThatCannotBeBuiltIsNotTried(t *testing.T) {
	m := fake.New(1, map[string]fake.Truth{"B+tso": {BuildFails: "no such feature"}}, fake.Noise{Trial: 0.02})
	p := plan(1, time.Minute, 0.05, over, "A", "B", "B+tso", "B+cpu")
	p.Suite.Why = &result.Why{Ratio: over[0], Untested: []result.Untested{{Factor: "gro", Reason: "nothing joins"}}}
	for i, factor := range []string{"tso", "cpu"} {
		p.Cells[i+2].Record.Intervention = &result.Intervention{Ratio: over[0], Of: "B", Factor: factor, Says: factor}
	}
	out := &records{}
	if _, err := conduct(m, p, out, silent{}); err != nil {
		t.Fatal(err)
	}
	r := analysis.Of(result.File{Run: out.run, Cells: out.cells, Trials: out.trials, End: &out.end}).Recovered
	if len(r.Factors) != 1 || r.Factors[0].Share.Known() || len(r.Untested) != 2 {
		t.Errorf("%+v", r)
	}
}
