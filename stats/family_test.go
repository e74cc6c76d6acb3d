package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"windtunnel/result"
)

// The suites of these tests: each of seven cells against the first, looked at after every block from the fifth to the last.
const (
	suiteCells  = 8
	suiteBlocks = 30
)

// suite draws the cells' values, by block and cell: blocks in random order, every second one backwards.
func (n noise) suite(random *rand.Rand, truths []float64, blocks int) [][]float64 {
	level, all, order := 100.0, make([][]float64, blocks), []int(nil)
	for i := range all {
		if i%2 == 0 {
			order = random.Perm(len(truths))
		} else {
			slices.Reverse(order)
		}
		all[i] = make([]float64, len(truths))
		for place, cell := range order {
			level *= math.Exp(n.drift * random.NormFloat64())
			all[i][cell] = level * truths[cell] * n.trial(random) * (1 + n.first*float64(place)/float64(len(order)))
		}
	}
	return all
}

// logs are the logarithms of the ratios to the first cell, by ratio and block.
func logs(values [][]float64) [][]float64 {
	all := make([][]float64, suiteCells-1)
	for _, block := range values {
		for j := range all {
			all[j] = append(all[j], math.Log(block[j+1]/block[0]))
		}
	}
	return all
}

// method says which of a suite's ratios differ, by what their blocks so far say.
type method func(logs [][]float64) []bool

// methods are what was tried; docs/statistics.md says what came of it.
var methods = map[string]method{
	"each alone": func(l [][]float64) []bool { return over(evidences(l, 1), func(int) float64 { return 1 }) },
	"Bonferroni": func(l [][]float64) []bool {
		return over(evidences(l, Family(len(l))), func(int) float64 { return float64(len(l)) })
	},
	"Bonferroni, planned": func(l [][]float64) []bool {
		return over(plannedEvidences(l, suiteBlocks), func(int) float64 { return float64(len(l)) })
	},
	"Holm":              func(l [][]float64) []bool { return stepDown(evidences(l, Family(len(l)))) },
	"mean of evidence":  func(l [][]float64) []bool { return closedMean(evidences(l, 1)) },
	"e-BH":              func(l [][]float64) []bool { return eBH(evidences(l, 1)) },
	"symmetry, by bets": func(l [][]float64) []bool { return over(bets(l), func(int) float64 { return float64(len(l)) }) },
}

func evidences(logs [][]float64, family Family) []float64 {
	all := make([]float64, len(logs))
	for j, l := range logs {
		mean, deviation := moments(l)
		all[j] = evidence(mean/(deviation/math.Sqrt(float64(len(l)))), len(l), family)
	}
	return all
}

// plannedEvidences are those of a run that was planned to have so many blocks.
func plannedEvidences(logs [][]float64, planned int) []float64 {
	all := make([]float64, len(logs))
	for j, l := range logs {
		mean, deviation := moments(l)
		all[j] = Family(len(logs)).Planned(planned).evidence(mean/(deviation/math.Sqrt(float64(len(l)))), len(l))
	}
	return all
}

// over claims what has so many times the evidence that one ratio alone would need.
func over(e []float64, times func(j int) float64) []bool {
	claims := make([]bool, len(e))
	for j := range e {
		claims[j] = e[j]*mistake >= times(j)
	}
	return claims
}

// descending are the indices from the most evidence to the least.
func descending(e []float64) []int {
	order := make([]int, len(e))
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(a, b int) int {
		if e[a] > e[b] {
			return -1
		}
		return 1
	})
	return order
}

// stepDown: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian J. of Statistics 6 (1979).
func stepDown(e []float64) []bool {
	claims := make([]bool, len(e))
	for k, j := range descending(e) {
		if e[j]*mistake < float64(len(e)-k) {
			break
		}
		claims[j] = true
	}
	return claims
}

// closedMean claims what every mean with others' evidence supports: Vovk and Wang (2021), section 5.
func closedMean(e []float64) []bool {
	claims, order := make([]bool, len(e)), descending(e)
	slices.Reverse(order)
	for j := range e {
		sum, n, least := e[j], 1.0, e[j]
		for _, other := range order {
			if other != j {
				sum, n = sum+e[other], n+1
				least = math.Min(least, sum/n)
			}
		}
		claims[j] = least*mistake >= 1
	}
	return claims
}

// eBH: Wang and Ramdas, "False discovery rate control with e-values", J. of the Royal Statistical Society B 84 (2022).
func eBH(e []float64) []bool {
	claims, order := make([]bool, len(e)), descending(e)
	for k := len(e); k > 0; k-- {
		if e[order[k-1]]*mistake*float64(k) >= float64(len(e)) {
			for _, j := range order[:k] {
				claims[j] = true
			}
			break
		}
	}
	return claims
}

// bets is the wealth of one who bets on the side of zero where the mean of the blocks before lies: a fair game wherever
// ratios are symmetric about zero, of any tails. After Ramdas, Ruf, Larsson and Koolen, "Admissible
// anytime-valid sequential inference must rely on nonnegative martingales" (2020), section 5.
func bets(logs [][]float64) []float64 {
	all := make([]float64, len(logs))
	for j, l := range logs {
		all[j] = 1
		for i := 2; i < len(l); i++ {
			mean, deviation := moments(l[:i])
			all[j] *= 2 / (1 + math.Exp(-2*mean*l[i]/(deviation*deviation)))
		}
	}
	return all
}

// outcome is what a method claimed, at any look and at the last.
type outcome struct {
	falseEver bool // of a ratio without a difference, at any look
	found     int  // of those with one, at the last look
}

func (m method) watch(all [][]float64, truths []float64) (o outcome) {
	for n := MinimumBlocks; n <= suiteBlocks; n++ {
		soFar := make([][]float64, len(all))
		for j := range all {
			soFar[j] = all[j][:n]
		}
		for j, claimed := range m(soFar) {
			switch {
			case claimed && truths[j+1] == truths[0]:
				o.falseEver = true
			case claimed && n == suiteBlocks:
				o.found++
			}
		}
	}
	return o
}

// truthsOf is a suite with so many cells that are 5 % faster than the first.
func truthsOf(different int) []float64 {
	truths := make([]float64, suiteCells)
	for i := range truths {
		truths[i] = 1
		if i > 0 && i <= different {
			truths[i] = 1.05
		}
	}
	return truths
}

// TestFamilyError: of suites without a difference, at most 5 % may ever claim one, whatever the noise.
func TestFamilyError(t *testing.T) {
	for name, n := range noises {
		wrong := map[string]int{}
		used := []string{"Bonferroni", "Bonferroni, planned"}
		for seed := range *suites {
			all := logs(n.suite(rand.New(rand.NewPCG(uint64(seed), 11)), truthsOf(0), suiteBlocks))
			for _, m := range used {
				if methods[m].watch(all, truthsOf(0)).falseEver {
					wrong[m]++
				}
			}
		}
		for _, m := range used {
			t.Logf("%-28s %-20s %d of %d suites ever claim a difference", name, m, wrong[m], *suites)
			if float64(wrong[m]) > 0.05*float64(*suites) {
				t.Errorf("%s, %s: %d of %d suites ever claim a difference", name, m, wrong[m], *suites)
			}
		}
	}
}

// TestMethodsCompared prints what the methods do; with -suites 1000 -v it is the table of docs/statistics.md.
func TestMethodsCompared(t *testing.T) {
	cases := []struct {
		name      string
		noise     noise
		different int
	}{
		{"A/A, plain", noises["plain"], 0},
		{"A/A, heavy tails", noises["heavy tails"], 0},
		{"A/A, two modes", noises["two modes"], 0},
		{"A/A, all at once", noises["all at once"], 0},
		{"1 of 7 differs by 5 %", noises["plain"], 1},
		{"the same, drifting", noises["drift"], 1},
		{"4 of 7 differ by 5 %", noises["plain"], 4},
		{"7 of 7 differ by 5 %", noises["plain"], 7},
	}
	for _, c := range cases {
		wrong, found := map[string]int{}, map[string]int{}
		for seed := range *suites {
			all := logs(c.noise.suite(rand.New(rand.NewPCG(uint64(seed), 17)), truthsOf(c.different), suiteBlocks))
			for name, m := range methods {
				o := m.watch(all, truthsOf(c.different))
				found[name] += o.found
				if o.falseEver {
					wrong[name]++
				}
			}
		}
		for _, name := range []string{"each alone", "Bonferroni", "Bonferroni, planned", "Holm", "mean of evidence", "e-BH", "symmetry, by bets"} {
			line := fmt.Sprintf("%-22s %-20s false in %5.1f %% of suites", c.name, name, 100*float64(wrong[name])/float64(*suites))
			if c.different > 0 {
				line += fmt.Sprintf(", %5.1f %% of the differences found", 100*float64(found[name])/float64(*suites*c.different))
			}
			t.Log(line)
		}
	}
}

func TestFamilyOf(t *testing.T) {
	cells := []result.Cell{{Name: "A"}, {Name: "B"}, {Name: "C"}, {Name: "D", Skipped: "needs KVM"}, {Name: "E", Failed: "no such device"}}
	ratios := []result.Ratio{{Over: "B", Under: "A"}, {Over: "C", Under: "A"}, {Over: "D", Under: "A"}, {Over: "E", Under: "A"}, {Metric: result.FoundRate, Over: "B", Under: "A"}}
	hypothesis := func(not string, r result.Ratio) result.Hypothesis {
		return result.Hypothesis{NotMeasured: not, Holds: result.Predicate{All: []result.Comparison{{Ratio: r}}}}
	}
	hypotheses := []result.Hypothesis{
		hypothesis("", result.Ratio{Metric: result.ReceivedRate, Over: "A", Under: "B"}), // the first, turned over
		hypothesis("", result.Ratio{Metric: result.SenderCost, Over: "B", Under: "A"}),
		hypothesis("needs 4 CPUs", result.Ratio{Over: "C", Under: "B"}),
	}
	if got := FamilyOf(ratios, hypotheses, cells); got != 3 {
		t.Errorf("%d ratios make claims, want 3", got)
	}
}

func TestFamilyWidensBoundsOnly(t *testing.T) {
	blocks := []Block{{Over: 1.01, Under: 1}, {Over: 1.05, Under: 1}, {Over: 0.99, Under: 1}, {Over: 1.02, Under: 1}, {Over: 1.03, Under: 1}, {Over: 1.00, Under: 1}}
	alone, among := Ratio(blocks), Family(9).Ratio(blocks)
	if alone.Estimate != among.Estimate || alone.N != among.N || !(*among.Low < *alone.Low && *alone.High < *among.High) {
		t.Errorf("alone %v, among nine %v", alone, among)
	}
	if zero := Family(0).Ratio(blocks); *zero.Low != *alone.Low {
		t.Errorf("a family of none: %v", zero)
	}
}
