package search

import (
	"math"

	"windtunnel/result"
)

// outcome is whether a trial met a goal, and at which offered load, as a logarithm.
type outcome struct {
	load float64
	met  bool
}

func outcomes(trials []result.SearchTrial, g result.SearchGoal) []outcome {
	var all []outcome
	for _, t := range trials {
		if t.Unusable == "" && t.Seconds >= g.FinalTrialSeconds {
			all = append(all, outcome{math.Log(offered(t)), uncarried(t) <= g.LossRatio})
		}
	}
	return all
}

// contradict reports whether a trial met the goal at a load at which, or below
// which, another one did not.
func contradict(all []outcome) bool { return met(all) >= missed(all) }

// contradictFar reports whether they do at loads that are far apart: no limit varies so much.
func contradictFar(all []outcome) bool { return met(all) >= missed(all)+math.Log(farAbove) }

// met is the highest load that met a goal, minus infinity if none did.
func met(all []outcome) float64 {
	most := math.Inf(-1)
	for _, o := range all {
		if o.met {
			most = math.Max(most, o.load)
		}
	}
	return most
}

// missed is the lowest load that missed it, infinity if none did.
func missed(all []outcome) float64 {
	least := math.Inf(1)
	for _, o := range all {
		if !o.met {
			least = math.Min(least, o.load)
		}
	}
	return least
}

// gridSteps is of fitOutcomes: of a first grid, and of a second one about what the first found likely.
const gridSteps = 100

// shape is how the share of trials that meet a goal may fall with the load: within so much from loads that do to loads that do not, deviations
// in logarithms, by functions that are a half at z = 0. The load in the middle is looked for so far beyond those that were tried.
type shape struct {
	narrowest, widest, beyond float64
	meets                     []func(z float64) float64
}

// A path with a limit has a steep step, of a limit that varies as a normal distribution does. One that loses by chance, a little of any
// load, has a flat one: also as losses have that come by chance, the more the higher the load (Weibull's), and with a quarter of the trials
// that meet the goal at whatever load.
var (
	steep = shape{0.0005, 0.3, 0.1, []func(float64) float64{above}}
	flat  = shape{0.5, 2.1, 1, []func(float64) float64{above,
		func(z float64) float64 { return math.Exp2(-math.Exp(z)) },
		func(z float64) float64 { return 0.25 + 0.75*above(z+0.4307) }}} // above(0.4307) is 1/3
)

// fitOutcomes is the load at which half of the trials meet the goal, with the bounds of its
// likelihood interval (95 %, by half the 95th percentile of chi-square): what can be
// said of any path, knowing nothing of how it loses but that more of them miss it at higher loads.
func fitOutcomes(all []outcome, s shape) (middle, low, high float64) {
	least, largest := math.Inf(1), math.Inf(-1)
	for _, o := range all {
		least, largest = math.Min(least, o.load), math.Max(largest, o.load)
	}
	_, low, high = likelyOutcomes(all, s, least-s.beyond, largest+s.beyond)
	return likelyOutcomes(all, s, low, high)
}

// likelyOutcomes looks between two loads. Bounds are one step of the grid further out than what is likely.
func likelyOutcomes(all []outcome, s shape, least, largest float64) (middle, low, high float64) {
	step := (largest - least) / gridSteps
	at := func(i int) float64 { return least + step*float64(i) }
	likely := make([]float64, gridSteps+1)
	best := math.Inf(-1)
	for i := range likely {
		likely[i] = math.Inf(-1)
		for deviation := s.narrowest; deviation < s.widest; deviation *= 2 {
			for _, meets := range s.meets {
				likely[i] = math.Max(likely[i], outcomeLikelihood(all, at(i), deviation, meets))
			}
		}
		best = math.Max(best, likely[i])
	}
	const within, equal = 1.92, 1e-6
	low, high = math.Inf(1), math.Inf(-1)
	first, last := low, high
	for i := range likely {
		if likely[i] > best-within {
			low, high = math.Min(low, at(i)-step), math.Max(high, at(i)+step)
		}
		if likely[i] > best-equal {
			first, last = math.Min(first, at(i)), math.Max(last, at(i))
		}
	}
	return (first + last) / 2, low, high
}

func outcomeLikelihood(all []outcome, middle, deviation float64, meets func(float64) float64) float64 {
	sum := 0.0
	for _, o := range all {
		z := (o.load - middle) / deviation
		share := meets(z)
		if !o.met {
			share = 1 - share
		}
		sum += math.Log(math.Max(share, 1e-12))
	}
	return sum
}
