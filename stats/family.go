package stats

import (
	"math"

	"windtunnel/result"
)

// Family is how many ratios share the chance of a mistake: all that one table claims is then right together in 95 %
// of runs, however many ratios it has. 0 and 1 are a ratio alone.
//
// Method: of m ratios each keeps its evidence under m/alpha for ever with probability 1-alpha/m (Ville's
// inequality), so none of them ever leaves its truth out with probability 1-alpha, by the union bound:
// Bonferroni, on e-processes. It needs no word on how ratios depend on each other (they share
// cells, and rates share the CPU times of costs), nor on who decides by what to stop: Ramdas, Grünwald,
// Vovk and Shafer, "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38
// (2023), section 2; Vovk and Wang, "E-values: calibration, combination and
// applications", Annals of Statistics 49 (2021). A claim is read off its interval and nowhere else, so
// that the two cannot contradict each other. docs/statistics.md has what Holm's steps, means of
// evidence and e-BH would give more, and what they would cost.
type Family int

// alone is the family of a figure that no other one is claimed with.
const alone Family = 1

// FamilyOf counts the ratios of a run whose blocks make a claim: what the suite asks for, and what its hypotheses
// speak of. A ratio and its inverse are one. Those of rates that searches found have
// intervals of their own, and those of cells that are not measured here, or failed to be built, claim nothing.
func FamilyOf(ratios []result.Ratio, hypotheses []result.Hypothesis, cells []result.Cell) Family {
	seen, measured := map[result.Ratio]bool{}, map[string]bool{}
	for _, c := range cells {
		measured[c.Name] = c.Skipped == "" && c.Failed == "" // both are known before the first trial
	}
	add := func(r result.Ratio) {
		if r.Metric == result.FoundRate || !measured[r.Over] || !measured[r.Under] {
			return
		}
		if r.Metric == "" {
			r.Metric = result.ReceivedRate
		}
		if r.Over > r.Under {
			r.Over, r.Under = r.Under, r.Over
		}
		seen[r] = true
	}
	for _, r := range ratios {
		add(r)
	}
	for _, h := range hypotheses {
		if h.NotMeasured != "" {
			continue
		}
		for _, r := range h.Holds.Ratios() {
			add(r)
		}
	}
	return Family(len(seen))
}

// mistake is the chance that one ratio's interval ever misses.
func (f Family) mistake() float64 { return mistake / math.Max(1, float64(f)) }

// effectVariance is what the name says of one ratio of the family. It grows with the family, or five blocks
// could not show enough evidence for more than 33 ratios, however large the difference.
func (f Family) effectVariance() float64 {
	return effectVariance * math.Pow(math.Max(1, float64(f)), 0.25)
}

// Ratio estimates over/under from blocks, as one of the family's ratios. See RatioOf.
func (f Family) Ratio(blocks []Block) Estimate { return f.Planned(0).Ratio(blocks) }

// OfTrials estimates a ratio of cells from a run's trials, as one of the family's ratios.
func (f Family) OfTrials(cells []result.Cell, trials []result.Trial, r result.Ratio) Estimate {
	return f.Planned(0).OfTrials(cells, trials, r)
}
