package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestStandardErrorsSolveTheEvidence(t *testing.T) {
	for n := MinimumBlocks; n < 400; n++ {
		for _, family := range []Family{1, 7, 100} {
			bound := standardErrors(n, family)
			if e := evidence(bound, n, family); math.Abs(e*mistake/float64(family)-1) > 1e-9 {
				t.Fatalf("n=%d of %d: the evidence at the bound %g is %g, want %g", n, family, bound, e, float64(family)/mistake)
			}
		}
	}
}

// The closed form is the ratio of two integrals over the scale, and of one more
// over the standardised mean. They are done here by sums, from the densities.
func TestEvidenceIsTheLikelihoodRatio(t *testing.T) {
	x := []float64{0.3, 1.1, 0.2, 0.9, 1.4, 0.6}
	mean, deviation := moments(x)
	tStatistic := mean / (deviation / math.Sqrt(float64(len(x))))
	numerator, denominator := 0.0, 0.0
	const step = 0.02
	for logScale := -6.0; logScale < 6; logScale += step {
		denominator += likelihood(x, 0, math.Exp(logScale))
		for effect := -15.0; effect < 15; effect += step {
			prior := math.Exp(-effect*effect/2/effectVariance) / math.Sqrt(2*math.Pi*effectVariance) * step
			numerator += prior * likelihood(x, effect, math.Exp(logScale))
		}
	}
	got, want := evidence(tStatistic, len(x), 1), numerator/denominator
	if math.Abs(got/want-1) > 1e-3 {
		t.Errorf("the closed form gives %g, the integral %g", got, want)
	}
}

// likelihood of Gaussian samples whose mean is effect times their scale.
func likelihood(x []float64, effect, scale float64) float64 {
	l := 1.0
	for _, v := range x {
		z := v/scale - effect
		l *= math.Exp(-z*z/2) / scale
	}
	return l
}

// The same of a plan's prior, whose points stand where they stand.
func TestEvidenceOfAPlanIsTheLikelihoodRatio(t *testing.T) {
	x := []float64{0.3, 1.1, 0.2, 0.9, 1.4, 0.6}
	mean, deviation := moments(x)
	plan := Family(7).Planned(30)
	point := math.Sqrt(1.15 * math.Log(2*7/0.05) / 30)
	variance := 5 * plan.effectVariance()
	numerator, denominator := 0.0, 0.0
	const step = 0.05
	for logScale := -6.0; logScale < 6; logScale += step {
		scale := math.Exp(logScale)
		denominator += likelihood(x, 0, scale)
		numerator += 14.0 / 30 * (likelihood(x, point, scale) + likelihood(x, -point, scale))
		for effect := -45.0; effect < 45; effect += step {
			prior := math.Exp(-effect*effect/2/variance) / math.Sqrt(2*math.Pi*variance) * step
			numerator += prior / 15 * likelihood(x, effect, scale)
		}
	}
	got, want := plan.evidence(mean/(deviation/math.Sqrt(float64(len(x)))), len(x)), numerator/denominator
	if math.Abs(got/want-1) > 1e-3 {
		t.Errorf("the closed form gives %g, the integral %g", got, want)
	}
}

func TestStandardErrorsOfAPlan(t *testing.T) {
	for _, c := range []struct {
		family     Family
		planned, n int
		want       float64
	}{
		{7, 30, 5, 18.54}, {7, 30, 10, 8.13}, {7, 30, 20, 5.24}, {7, 30, 30, 4.06}, {7, 30, 60, 3.53}, {7, 30, 600, 5.09},
		{7, 200, 30, 4.50}, {7, 200, 200, 3.85}, {1, 30, 30, 3.11}, {100, 30, 30, 5.38},
	} {
		if got := c.family.Planned(c.planned).standardErrors(c.n); math.Abs(got-c.want) > 0.01 {
			t.Errorf("n=%d of %d planned, of %d ratios: %.3f standard errors, want %.2f", c.n, c.planned, c.family, got, c.want)
		}
	}
	for _, planned := range []int{20, 30, 45, 1000, math.MaxInt} { // the last one is a run's file that was edited
		for _, family := range []Family{1, 7, 100, 1000} {
			plan, last := family.Planned(planned), math.Inf(1)
			for _, n := range []int{5, 6, 8, 12, 20, 30, 100, 1000, 30_000} {
				bound := plan.standardErrors(n)
				if e := plan.evidence(bound, n); math.Abs(e*mistake/float64(family)-1) > 1e-9 {
					t.Errorf("n=%d of %d: the evidence at the bound %g is %g, want %g", n, family, bound, e, float64(family)/mistake)
				}
				if reach := bound / math.Sqrt(float64(n)); reach >= last {
					t.Errorf("n=%d of %d planned, of %d: more blocks widen the bounds", n, planned, family)
				} else {
					last = reach
				}
			}
		}
	}
	for _, planned := range []int{-1, 0, 19} {
		if got, want := Family(7).Planned(planned).standardErrors(12), standardErrors(12, 7); got != want {
			t.Errorf("%d planned: %g standard errors, want %g", planned, got, want)
		}
	}
}

func TestStandardErrorsShape(t *testing.T) {
	if !math.IsInf(standardErrors(MinimumBlocks-1, 1), 1) {
		t.Error("bounds below the minimum")
	}
	for n, want := range map[int]float64{5: 5.33, 10: 4.02, 15: 3.77, 30: 3.60} {
		if got := standardErrors(n, 1); math.Abs(got-want) > 0.01 {
			t.Errorf("n=%d: %.3f standard errors, want %.2f", n, got, want)
		}
	}
	for n, want := range map[int]float64{5: 9.85, 12: 5.25, 30: 4.48} {
		if got := standardErrors(n, 8); math.Abs(got-want) > 0.01 {
			t.Errorf("n=%d of 8: %.3f standard errors, want %.2f", n, got, want)
		}
	}
	if math.IsInf(standardErrors(MinimumBlocks, 500), 1) {
		t.Error("no bounds for a large family")
	}
}

// falseRate is the share of runs in which a look after some block from 5 to 30
// claims a difference between two cells that have none.
func falseRate(runs int, noise noise, truth float64, blocks int) float64 {
	claimed := 0
	for run := range runs {
		random := rand.New(rand.NewPCG(uint64(run), 7))
		if claims(noise.blocks(random, truth, blocks)) {
			claimed++
		}
	}
	return float64(claimed) / float64(runs)
}

func claims(blocks []Block) bool {
	for n := MinimumBlocks; n <= len(blocks); n++ {
		if Ratio(blocks[:n]).Differs() {
			return true
		}
	}
	return false
}

func TestFalseDifferences(t *testing.T) {
	for name, n := range noises {
		rate := falseRate(1000, n, 1, 30)
		t.Logf("%-28s %.1f %% of A/A runs claim a difference", name, 100*rate)
		if rate > 0.05 {
			t.Errorf("%s: %.1f %% of A/A runs claim a difference, want at most 5 %%", name, 100*rate)
		}
	}
}

func TestTrueDifferenceIsFound(t *testing.T) {
	found := falseRate(1000, noise{spread: 0.03}, 1.10, 15)
	t.Logf("10 %% at 3 %% noise: found in %.1f %% of runs within 15 blocks", 100*found)
	if found < 0.90 {
		t.Errorf("found in %.1f %% of runs, want at least 90 %%", 100*found)
	}
}
