package search

import (
	"context"
	"math"
	"testing"

	"windtunnel/result"
)

// queued is a sharp device before which a queue holds what comes in 5 ms, or in 10 s.
func queued(seconds float64) func(uint64) (*device, float64) {
	return func(seed uint64) (*device, float64) {
		d, truth := sharp(seed)
		d.room = truth * seconds
		return d, truth
	}
}

func TestAQueueHidesNoExcess(t *testing.T) {
	for _, seconds := range []float64{0.005, 10} {
		found, _, truths := each(t, queued(seconds), twoGoals())
		for i, s := range found {
			for j, g := range s.Goals {
				r, truth := s.Found[j], of(truths[i], g.LossRatio)
				if in, wide := holds(r.Rate, truth); !in || wide > 0.0051 || math.Abs(r.Rate.Mean/truth-1) > 0.005 || !r.Regular {
					t.Errorf("a queue of %g s, seed %d, loss %g: %+v, the truth is %g", seconds, i, g.LossRatio, r, truth)
				}
			}
		}
	}
}

// TestStrictSearchesCountByTheLetter: RFC 2544's losses are frames that never came.
func TestStrictSearchesCountByTheLetter(t *testing.T) {
	d, truth := queued(1e9)(1)
	s, err := Run(context.Background(), strict(Strict(0), result.MethodRFC2544), d.measure)
	if err != nil || s.Found[0].LowerBound < 1e7*(1-1e-9) {
		t.Errorf("%+v, %v; the truth is %g, the queue is without end", s.Found, err, truth)
	}
}

// TestAGeneratorThatKeepsNoLoad has the CPU by turns, or so little time that no load is decided.
func TestAGeneratorThatKeepsNoLoad(t *testing.T) {
	for _, budget := range []float64{2, 30} {
		d, truth := sharp(5)
		d.fastest, d.erratic = truth/2, 0.4
		c := twoGoals()
		c.Budget = budget
		s, err := Run(context.Background(), c, d.measure)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Found {
			if r.Limit.Verdict != result.GeneratorLimited || r.Regular || r.Rate.Low == nil || r.Rate.High != nil ||
				*r.Rate.Low < 0.55*d.fastest || *r.Rate.Low > d.fastest {
				t.Errorf("%g s: %+v (%s); the generator reaches %g, and %g of it always", budget, r, r.Limit.Says, d.fastest, 1-d.erratic)
			}
		}
	}
}

// TestAGeneratorAboveThePathSaysNothingOfIt: it fell short at loads that the path does not carry, and the budget ended
// before an upper bound.
func TestAGeneratorAboveThePathSaysNothingOfIt(t *testing.T) {
	b := bench{Config: twoGoals(), highest: 2e6, generator: 2.7e6}
	for lower, want := range map[float64]result.Limit{
		4e5: {Says: "no verdict: 4e+05 per second met the goal, and the search ended before more was known"},
		2e6: {Verdict: result.GeneratorLimited, Says: "the generator keeps 2e+06 per second at most, and that met the goal: the path carries as much or more"},
	} {
		if got := b.limit(b.Goals[0], lower, 0, false); got != want {
			t.Errorf("a lower bound of %g: %+v", lower, got)
		}
	}
}
