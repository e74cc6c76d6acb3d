package search

import (
	"cmp"
	"slices"

	"windtunnel/result"
)

// class is what a load is to a goal.
type class int

const (
	undecided class = iota
	lowerBound
	upperBound
)

// tick is a time that is none, in seconds: sums of tenths are not exact.
const tick = 1e-9

// sums are the effective durations of the trials at one load, by how long the
// trials were and whether they lost too much: the inputs of the draft's Appendix A.
type sums struct{ fullLow, fullHigh, shortLow, shortHigh float64 }

func sumUp(trials []result.SearchTrial, g result.SearchGoal) sums {
	var s sums
	for _, t := range trials {
		full, high := t.Seconds >= g.FinalTrialSeconds, uncarried(t) > g.LossRatio
		switch {
		case full && high:
			s.fullHigh += t.EffectiveSeconds
		case full:
			s.fullLow += t.EffectiveSeconds
		case high:
			s.shortHigh += t.EffectiveSeconds
		default:
			s.shortLow += t.EffectiveSeconds
		}
	}
	return s
}

// classify says what the trials at one load make of it (the draft, Appendix A): a
// bound once no trial that is still missing in the duration sum could change it.
// Short trials that lost little can only make up for short ones that lost much.
func classify(trials []result.SearchTrial, g result.SearchGoal) class {
	s := sumUp(trials, g)
	excess := max(0, s.shortHigh-s.shortLow*g.ExceedRatio/(1-g.ExceedRatio))
	high := s.fullHigh + excess
	whole := max(s.fullLow+high, g.DurationSumSeconds)
	allowed := whole*g.ExceedRatio + tick
	switch optimistic, pessimistic := high <= allowed, whole-s.fullLow <= allowed; {
	case optimistic && pessimistic:
		return lowerBound
	case !optimistic && !pessimistic:
		return upperBound
	}
	return undecided
}

// conditionalThroughput is the forwarding rate that is kept in all but the exceed
// ratio of the time (the draft, Appendix B). What is missing in the duration sum
// counts as lost whole.
func conditionalThroughput(load float64, trials []result.SearchTrial, g result.SearchGoal) float64 {
	var full []result.SearchTrial
	total := 0.0
	for _, t := range trials {
		if t.Seconds >= g.FinalTrialSeconds {
			full = append(full, t)
			total += t.EffectiveSeconds
		}
	}
	slices.SortFunc(full, func(a, b result.SearchTrial) int { return cmp.Compare(uncarried(a), uncarried(b)) })
	remaining := max(g.DurationSumSeconds, total) * (1 - g.ExceedRatio)
	loss := 1.0
	for i, t := range full {
		if i > 0 && remaining <= tick {
			break
		}
		loss = uncarried(t)
		remaining -= t.EffectiveSeconds
	}
	if remaining > tick {
		loss = 1
	}
	return load * (1 - loss)
}

// bounds are a goal's relevant bounds among the trials; 0 where there is none.
// The smallest upper bound is the relevant one, and the largest lower bound below
// it: where they contradict each other, the draft believes the smaller load.
func bounds(trials []result.SearchTrial, g result.SearchGoal) (lower, upper float64) {
	loads, at := byLoad(trials)
	for _, load := range loads {
		switch classify(at[load], g) {
		case upperBound:
			return lower, load
		case lowerBound:
			lower = load
		}
	}
	return lower, 0
}

// byLoad groups the usable trials; loads ascend.
func byLoad(trials []result.SearchTrial) ([]float64, map[float64][]result.SearchTrial) {
	at := map[float64][]result.SearchTrial{}
	var loads []float64
	for _, t := range trials {
		if t.Unusable != "" {
			continue
		}
		if len(at[t.Load]) == 0 {
			loads = append(loads, t.Load)
		}
		at[t.Load] = append(at[t.Load], t)
	}
	slices.Sort(loads)
	return loads, at
}
