package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// trialsOf are interval series of trials whose first `early` intervals have `by` times the rate. Neighbouring intervals are
// alike, and so are all of a trial.
func trialsOf(random *rand.Rand, trials, intervals, early int, by float64) [][]float64 {
	all := make([][]float64, trials)
	for i := range all {
		level, drift := 1e9*math.Exp(0.05*random.NormFloat64()), 0.0
		all[i] = make([]float64, intervals)
		for j := range all[i] {
			drift = 0.7*drift + 0.03*random.NormFloat64()
			all[i][j] = level * (1 + drift)
			if j < early {
				all[i][j] *= by
			}
		}
	}
	return all
}

func TestSteadyStateIsFound(t *testing.T) {
	found, from := 0, map[int]int{}
	for seed := range uint64(200) {
		s, ok := SteadyState(trialsOf(rand.New(rand.NewPCG(seed, 1)), 10, 12, 3, 0.7))
		if from[s.From]++; ok && s.Matters() && s.From >= 3 && s.Share < -0.05 && s.Share > -0.1 {
			found++
		}
	}
	t.Logf("a beginning of 3 intervals of 12 at 70 %%: found in %d of 200 cells, by where: %v", found, from)
	if found < 190 || from[3] < 140 {
		t.Errorf("found in %d of 200 cells, where it ends in %d", found, from[3])
	}
}

func TestSteadyStateIsRarelyDenied(t *testing.T) {
	denied := 0
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 2))
		if s, ok := SteadyState(trialsOf(random, 5+int(seed%20), 10+int(seed%21), 0, 1)); ok && s.Matters() {
			denied++
		}
	}
	t.Logf("a warm-up is found in %d of 1000 cells without one", denied)
	if denied > 20 {
		t.Errorf("a warm-up is found in %d of 1000 cells without one", denied)
	}
}

func TestSteadyStateOfTooLittle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for name, trials := range map[string][][]float64{
		"no trials":     nil,
		"few trials":    trialsOf(random, 4, 12, 0, 1),
		"few intervals": trialsOf(random, 10, 5, 0, 1),
		"nothing flows": {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}},
	} {
		if s, ok := SteadyState(trials); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
	s, ok := SteadyState([][]float64{{0, 0, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 1}})
	if !ok || s.From != 2 || !s.Matters() || s.Early.Estimate > 0.01 {
		t.Errorf("nothing in the beginning: %+v, %v", s, ok)
	}
}
