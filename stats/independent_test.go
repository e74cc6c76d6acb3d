package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The table is that of Student's t in Abramowitz and Stegun, 26.10, and R's qt() for the tails that families need.
func TestStudentQuantile(t *testing.T) {
	for _, c := range []struct{ p, freedom, want float64 }{
		{0.025, 1, 12.7062}, {0.025, 4, 2.77645}, {0.025, 10, 2.22814}, {0.025, 30, 2.04227}, {0.025, 1e6, 1.95997},
		{0.005, 8, 3.35539}, {0.0005, 12, 4.31779}, {0.05, 2.5, 2.55823}, {0.0005, 1, 636.619},
	} {
		if got := studentQuantile(c.p, c.freedom); math.Abs(got/c.want-1) > 2e-3 {
			t.Errorf("t(%g, %g) is %.5f, want %.5f", c.p, c.freedom, got, c.want)
		}
	}
}

// Whatever the tail and the freedom, the quantile is finite, and passing it has the probability asked for.
func TestStudentQuantileSolvesTheTail(t *testing.T) {
	for _, p := range []float64{0.025, 1e-3, 1e-6} {
		for freedom := 1.0; freedom < 2000; freedom *= 1.7 {
			x := studentQuantile(p, freedom)
			if back := studentTail(x, freedom); math.IsInf(x, 0) || math.Abs(back/p-1) > 1e-6 {
				t.Errorf("p=%g freedom=%g: %g, whose tail is %g", p, freedom, x, back)
			}
		}
	}
}

// machine is a run's samples of one cell, of the noise that the blocks have.
func (n noise) samples(random *rand.Rand, truth float64, count int) []float64 {
	all := make([]float64, count)
	for i, b := range n.blocks(random, truth, count) {
		all[i] = b.Over
	}
	return all
}

// falseRunRate is the share of pairs of runs in which one of `family` comparisons claims a difference that is none.
func falseRunRate(pairs int, n noise, truth float64, count, family int) float64 {
	claimed := 0
	for pair := range pairs {
		random := rand.New(rand.NewPCG(uint64(pair), 11))
		for range family {
			if Independent(n.samples(random, truth, count), n.samples(random, 1, count), family).Differs() {
				claimed++
				break
			}
		}
	}
	return float64(claimed) / float64(pairs)
}

// Two runs of the same cells differ in at most 5 % of cases, in however many cells they are compared, where the
// machine is as fast in one run as in the other. One that wanders, by 2 % a trial, is at other speeds in two runs, and no
// statistic of two runs can tell that from a difference of the cells: how often it is taken for one is measured too.
func TestFalseDifferencesBetweenRuns(t *testing.T) {
	for name, n := range noises {
		for _, count := range []int{6, 20} {
			for _, family := range []int{1, 8} {
				rate := falseRunRate(400, n, 1, count, family)
				t.Logf("%-28s %2d trials, %d comparisons: %.1f %% claim a difference", name, count, family, 100*rate)
				if rate > 0.07 && n.drift == 0 { // 5 % and the chance of 400 pairs
					t.Errorf("%s, %d trials, %d comparisons: %.1f %% of A/A runs claim a difference, want at most 5 %%", name, count, family, 100*rate)
				}
			}
		}
	}
}

func TestTrueDifferenceBetweenRunsIsFound(t *testing.T) {
	found := falseRunRate(500, noise{spread: 0.03}, 1.10, 12, 1)
	inFamily := 0
	for pair := range 500 {
		random := rand.New(rand.NewPCG(uint64(pair), 13))
		n := noise{spread: 0.03}
		if Independent(n.samples(random, 1.10, 12), n.samples(random, 1, 12), 16).Differs() {
			inFamily++
		}
	}
	t.Logf("10 %% at 3 %% noise and 12 trials: found in %.1f %% of runs, as one of 16 comparisons in %.1f %%", 100*found, float64(inFamily)/5)
	if found < 0.95 || inFamily < 450 {
		t.Errorf("found in %.1f %%, in a family in %.1f %%", 100*found, float64(inFamily)/5)
	}
}

func TestIndependentWithoutRatio(t *testing.T) {
	few := []float64{1, 2, 3, 4}
	enough := []float64{1, 2, 3, 4, 5}
	if e := Independent(few, enough, 1); !e.Known() || e.Bounded() || e.N != 4 {
		t.Errorf("four samples: %v", e)
	}
	for _, bad := range [][]float64{nil, {0, 1, 1, 1, 1}, {-1, 1, 1, 1, 1}, {math.NaN(), 1, 1, 1, 1}, {math.Inf(1), 1, 1, 1, 1}} {
		if e := Independent(bad, enough, 1); e.Known() || e.Reason == "" {
			t.Errorf("%v over: %v", bad, e)
		}
		if e := Independent(enough, bad, 1); e.Known() || e.Reason == "" {
			t.Errorf("%v under: %v", bad, e)
		}
	}
	same := []float64{3, 3, 3, 3, 3}
	if e := Independent(same, same, 4); !e.Bounded() || e.Differs() {
		t.Errorf("alike: %v", e)
	}
}
