package search

import (
	"math"
	"testing"

	"windtunnel/result"
)

// The four goals of the draft's example search, section 5.8.1.
var example = []result.SearchGoal{
	{LossRatio: 0, ExceedRatio: 0, FinalTrialSeconds: 60, DurationSumSeconds: 60},
	{LossRatio: 0, ExceedRatio: 0.5, FinalTrialSeconds: 60, DurationSumSeconds: 120},
	{LossRatio: 0.005, ExceedRatio: 0.5, FinalTrialSeconds: 1, DurationSumSeconds: 120},
	{LossRatio: 0.005, ExceedRatio: 0.2, FinalTrialSeconds: 60, DurationSumSeconds: 60},
}

// trials are some at one load of a million frames per second.
func trials(n int, seconds, loss float64) []result.SearchTrial {
	var all []result.SearchTrial
	for range n {
		all = append(all, result.SearchTrial{Load: 1e6, Seconds: seconds, EffectiveSeconds: seconds, LossRatio: loss})
	}
	return all
}

// TestTheDraftsExample is its section 5.8: six points in time, four goals. Its tables call
// the load a lower bound for the last goal at points 5 and 6, with exceed ratios of 42.857 and
// 27.273 %, which are above that goal's 20 %: what defines a bound is Appendix A, and that
// makes it an upper one.
func TestTheDraftsExample(t *testing.T) {
	var all []result.SearchTrial
	for i, point := range []struct {
		added []result.SearchTrial
		want  [4]class
	}{
		{trials(59, 1, 0), [4]class{undecided, undecided, undecided, undecided}},
		{trials(1, 1, 0.01), [4]class{upperBound, undecided, undecided, undecided}},
		{trials(59, 1, 0.01), [4]class{upperBound, undecided, undecided, upperBound}},
		{trials(1, 1, 0), [4]class{upperBound, undecided, lowerBound, upperBound}},
		{trials(1, 60, 0.001), [4]class{upperBound, undecided, lowerBound, upperBound}},
		{trials(1, 60, 0), [4]class{upperBound, lowerBound, lowerBound, upperBound}},
	} {
		all = append(all, point.added...)
		for j, g := range example {
			if got := classify(all, g); got != point.want[j] {
				t.Errorf("point %d, goal %d: %v, want %v", i+1, j+1, got, point.want[j])
			}
		}
	}
	for j, want := range []float64{1e6, 1e6, 999e3} {
		if got := conditionalThroughput(1e6, all, example[j+1]); math.Abs(got-want) > 1e-3 {
			t.Errorf("goal %d: a conditional throughput of %g, want %g", j+2, got, want)
		}
	}
}

func TestWhatIsMissingCountsAsLostWhole(t *testing.T) {
	g := example[2]
	if got := conditionalThroughput(1e6, trials(59, 1, 0), g); got != 0 {
		t.Errorf("59 of 120 s give %g", got)
	}
	if got := conditionalThroughput(1e6, trials(60, 1, 0), g); got != 1e6 {
		t.Errorf("60 of 120 s give %g", got)
	}
}

func TestTheSmallerLoadIsBelieved(t *testing.T) {
	g := Goal(0)
	at := func(load, loss float64) []result.SearchTrial {
		all := trials(10, 1, loss)
		for i := range all {
			all[i].Load = load
		}
		return all
	}
	all := append(append(at(30, 0), at(20, 0.1)...), at(10, 0)...)
	if lower, upper := bounds(all, g); lower != 10 || upper != 20 {
		t.Errorf("from %g to %g", lower, upper)
	}
	if !inverted(all, g) {
		t.Error("30 above 20 is no inversion")
	}
	if lower, upper := bounds(at(30, 0), g); lower != 30 || upper != 0 {
		t.Errorf("without an upper bound: from %g to %g", lower, upper)
	}
}
