package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// leanings are how far from none, in scales, a difference is bet on, on either side.
var leanings = []float64{0.25, 0.5, 1, 2, 4}

// leaning is the wealth of one who bets on a block's side by how much likelier its ratio is under a difference there than under as
// much on the other side, with the density of Student's t of 3 degrees of freedom, under which what lies far out says nothing of
// either: a fair game wherever ratios are symmetric about none, of any tails. A block's scale is known before its
// side is: by the blocks before, at first by sizes without their sides. Vovk and Wang, "Nonparametric
// e-tests of symmetry", New England J. of Statistics in Data Science 2 (2024); the density: Lange, Little and Taylor, "Robust
// statistical modeling using the t distribution", J. of the American Statistical Association 84 (1989).
func leaning(logs []float64) float64 {
	const few = 4
	wealth, sizes := make([]float64, 2*len(leanings)), make([]float64, len(logs))
	for i, x := range logs {
		sizes[i] = math.Abs(x)
		scale := median(sizes[:i+1])
		if i >= few {
			center := median(logs[:i])
			off := make([]float64, i)
			for k, before := range logs[:i] {
				off[k] = math.Abs(before - center)
			}
			scale = 1.4826 * median(off) // of Gaussian noise its standard deviation
		}
		if scale <= 0 {
			continue
		}
		for k, lean := range leanings {
			odds := 2 * (math.Log1p((x/scale-lean)*(x/scale-lean)/3) - math.Log1p((x/scale+lean)*(x/scale+lean)/3))
			wealth[2*k] += math.Ln2 - math.Log1p(math.Exp(odds))
			wealth[2*k+1] += math.Ln2 - math.Log1p(math.Exp(-odds))
		}
	}
	mean := 0.0
	for _, w := range wealth {
		mean += math.Exp(w) / float64(len(wealth))
	}
	return mean
}

// byLeaning claims what such bets have won enough on among a suite's ratios: so many times what each would need alone among them.
func byLeaning(times float64) method {
	return func(l [][]float64) []bool {
		all := make([]float64, len(l))
		for j := range l {
			all[j] = leaning(l[j])
		}
		return over(all, func(int) float64 { return times * float64(len(l)) })
	}
}

// byEither claims what the t e-process or such bets claim, each with half of the error.
func byEither(l [][]float64) []bool {
	claims := over(evidences(l, Family(len(l))), func(int) float64 { return 2 * float64(len(l)) })
	for j, claimed := range byLeaning(2)(l) {
		claims[j] = claims[j] || claimed
	}
	return claims
}

// crooked has one cell alone in a slow mode in a share of its trials, and as much faster in the others as makes its mean the
// same: no difference of means, and noise that is not symmetric.
func crooked(random *rand.Rand, suite [][]float64, cell int, share, slow float64) {
	for _, block := range suite {
		block[cell] *= math.Pow(slow, -share)
		if random.Float64() < share {
			block[cell] *= slow
		}
	}
}

// TestMethodsWhereOneCellIsCrooked prints how often suites of outliers miss a truth where one cell of eight is slow now and then: one
// of those that are compared, or the first, which all of them are compared with.
func TestMethodsWhereOneCellIsCrooked(t *testing.T) {
	for _, c := range []struct {
		share, slow float64
		cell        int
	}{{0.1, 0.8, 1}, {0.2, 0.8, 1}, {0.05, 0.8, 1}, {0.1, 0.6, 1}, {0.1, 0.8, 0}, {0.2, 0.8, 0}, {0.05, 0.8, 0}, {0.1, 0.6, 0}} {
		wrong := map[string]int{}
		used := []string{"Bonferroni", "Bonferroni, planned"}
		for seed := range *suites {
			random := rand.New(rand.NewPCG(uint64(seed), 27))
			suite := noises["far and few"].suite(random, truthsOf(0), suiteBlocks)
			crooked(random, suite, c.cell, c.share, c.slow)
			for _, m := range used {
				if methods[m].watch(logs(suite), truthsOf(0)).falseEver {
					wrong[m]++
				}
			}
		}
		for _, m := range used {
			t.Logf("%-20s cell %d slower by %2.0f %% in %2.0f of 100 trials: %d of %d suites miss a truth", m, c.cell, 100*(1-c.slow), 100*c.share, wrong[m], *suites)
		}
		if got, had := wrong["Bonferroni, planned"], wrong["Bonferroni"]; got > had || *suites >= 1000 && c.cell == 1 && c.share == 0.1 && c.slow == 0.8 && got > *suites*5/100 {
			t.Errorf("%d of %d suites miss a truth, %d without a plan", got, *suites, had)
		}
	}
}

// TestMethodsAgainstOutliers prints what was tried where few trials far off are most of what varies; with -suites 1000 -v it is the
// table of docs/statistics.md.
func TestMethodsAgainstOutliers(t *testing.T) {
	for _, m := range []struct {
		name  string
		claim method
	}{{"no plan", methods["Bonferroni"]}, {"as planned", methods["Bonferroni, planned"]}, {"bets on a side", byLeaning(1)}, {"either", byEither}} {
		for _, name := range []string{"far and few", "plain", "two modes", "all at once"} {
			if *suites < 1000 && name != "far and few" {
				break // each takes seconds
			}
			same, found, bent := 0, 0, 0
			for seed := range *suites {
				draw := func(stream uint64, different int) (*rand.Rand, [][]float64) {
					random := rand.New(rand.NewPCG(uint64(seed), stream))
					return random, noises[name].suite(random, truthsOf(different), suiteBlocks)
				}
				_, alike := draw(23, 0)
				if m.claim.watch(logs(alike), truthsOf(0)).falseEver {
					same++
				}
				_, one := draw(24, 1)
				found += m.claim.watch(logs(one), truthsOf(1)).found
				random, suite := draw(25, 0)
				crooked(random, suite, 1, 0.1, 0.8)
				if m.claim.watch(logs(suite), truthsOf(0)).falseEver {
					bent++
				}
			}
			of := func(n int) float64 { return 100 * float64(n) / float64(*suites) }
			t.Logf("%-14s %-12s %5.1f %% of the differences of 5 %% found, %4.1f %% of A/A suites have one, %5.1f %% where one cell's noise is crooked",
				m.name, name, of(found), of(same), of(bent))
			if of(same) > 5 {
				t.Errorf("%s, %s: %d of %d A/A suites have a difference", m.name, name, same, *suites)
			}
		}
	}
}
