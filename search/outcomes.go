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
func contradict(all []outcome) bool {
	missed := math.Inf(1)
	for _, o := range all {
		if !o.met {
			missed = math.Min(missed, o.load)
		}
	}
	for _, o := range all {
		if o.met && o.load >= missed {
			return true
		}
	}
	return false
}

// The grid of fitOutcomes, in logarithms.
const (
	gridSteps  = 400
	gridBeyond = 0.1
)

// fitOutcomes is the load at which half of the trials meet the goal, with the bounds of its
// likelihood interval (95 %, by half the 95th percentile of chi-square): what can be
// said of any path, knowing nothing of how it loses. The share that misses is a normal
// distribution's over the logarithm of the load.
func fitOutcomes(all []outcome) (middle, low, high float64) {
	least, largest := math.Inf(1), math.Inf(-1)
	for _, o := range all {
		least, largest = math.Min(least, o.load), math.Max(largest, o.load)
	}
	least, largest = least-gridBeyond, largest+gridBeyond
	at := func(i int) float64 { return least + (largest-least)*float64(i)/gridSteps }
	likely := make([]float64, gridSteps+1)
	best := math.Inf(-1)
	for i := range likely {
		likely[i] = math.Inf(-1)
		for deviation := 0.0005; deviation < 0.3; deviation *= 1.5 {
			likely[i] = math.Max(likely[i], outcomeLikelihood(all, at(i), deviation))
		}
		if likely[i] > best {
			best, middle = likely[i], at(i)
		}
	}
	const within = 1.92
	low, high = middle, middle
	for i := range likely {
		if likely[i] > best-within {
			low, high = math.Min(low, at(i)), math.Max(high, at(i))
		}
	}
	return middle, low, high
}

func outcomeLikelihood(all []outcome, middle, deviation float64) float64 {
	sum := 0.0
	for _, o := range all {
		z := (o.load - middle) / deviation
		if !o.met {
			z = -z
		}
		sum += math.Log(math.Max(above(z), 1e-12))
	}
	return sum
}
