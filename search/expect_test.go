package search

import (
	"math"
	"testing"

	"windtunnel/result"
)

// TestWhatIsExpectedComes: of other paths that vary as much, most searches of the same budget are as exact, and not all are much
// more so.
func TestWhatIsExpectedComes(t *testing.T) {
	const around, others = 0.3, 40
	c := twoGoals()
	var all []Expected
	for _, budget := range []float64{10, 25, 60} {
		c.Budget = budget
		want := Expect(c, around)
		all = append(all, want)
		within, closer, without, trials := 0, 0, 0, []float64(nil)
		for seed := range uint64(others) {
			d, truth := noisy(seed + 1000)
			s, err := Run(t.Context(), c, d.slowly(around))
			if err != nil {
				t.Fatal(err)
			}
			off := 100 * farthest(s, truth)
			if math.IsInf(off, 1) {
				without++
			}
			if off <= 1.5*want.Percent {
				within++
			}
			if off <= want.Percent/4 {
				closer++
			}
			trials = append(trials, float64(len(s.Trials)))
		}
		t.Logf("%g s: %+v; of %d others %d were no farther off than 1.5 times that, %d than a quarter, and %d had no rate",
			budget, want, others, within, closer, without)
		if none := math.IsInf(want.Percent, 1); none && without == 0 || !none && (within < others*3/4 || closer > others*3/4) {
			t.Errorf("%g s: %+v; %d within, %d closer, %d without", budget, want, within, closer, without)
		}
		if math.Abs(float64(want.Trials)-median(trials)) > 0.3*median(trials) || want.Seconds > budget {
			t.Errorf("%g s: %+v; the others had %g trials", budget, want, median(trials))
		}
	}
	if short, long := all[0], all[2]; long.Percent > short.Percent || long.Trials < 2*short.Trials {
		t.Errorf("in 10 s %+v, in 60 s %+v", short, long)
	}
}

// TestTooLittleIsExpected of a search that has time for nothing.
func TestTooLittleIsExpected(t *testing.T) {
	c := twoGoals()
	c.Budget = 2
	if got := Expect(c, 0.3); got.Percent < 5 || got.Trials > 4 {
		t.Errorf("two goals in 2 s: %+v", got)
	}
	strict := Config{Method: result.MethodRFC2544, MinLoad: 1, MaxLoad: 1e4, Goals: []result.SearchGoal{Strict(0)}}
	if got := Expect(strict, 0.3); math.IsInf(got.Percent, 1) || got.Seconds < 300 {
		t.Errorf("a strict search without a budget: %+v", got)
	}
	strict.Budget = 70
	if got := Expect(strict, 0.3); !math.IsInf(got.Percent, 1) || got.Trials != 1 {
		t.Errorf("a strict search of 70 s: %+v", got)
	}
}
