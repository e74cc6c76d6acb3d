package search

import (
	"math"

	"windtunnel/result"
)

// stated is a goal's rate and its interval.
type stated struct {
	rate, low, high float64
	basis           string
	drift           float64 // the part of the interval's logarithm that no trial makes narrower
}

// state says at which load a goal is just met. Trials that agree with each other leave
// that to the bounds.
func (b *bench) state(g result.SearchGoal, w weather) stated {
	lower, upper := bounds(b.trials, g)
	between := b.between(lower, upper)
	all := outcomes(b.trials, g)
	// What was fitted to limits is no rate that trials of full length missed far below: something else than a limit made them.
	holds := func(s stated) bool { return upper == 0 || s.rate <= upper*farAbove }
	if b.Method != result.MethodMLR || !w.noisy || g.ExceedRatio == 0 {
		return between
	}
	switch {
	case w.fitted && w.bimodal:
		if s := w.byModes(g); holds(s) {
			return s
		}
	case w.fitted && !w.bent && !surprising(all, g, w.fit):
		if s := w.byLimits(g); holds(s) {
			return s
		}
	}
	if contradict(all) && len(all) >= leastFitted {
		how := stepOf(all)
		if w.follows {
			how = flat
		}
		middle, low, high := fitOutcomes(all, how)
		return stated{math.Exp(middle), math.Exp(low), math.Exp(high), result.BasisOutcomes, 0}
	}
	return between
}

// farAbove a load that missed the goal for as long as the goal asks is no rate that meets it, however the limits scatter.
const farAbove = 1.2

// between is a rate within two bounds, as they were offered.
func (b *bench) between(lower, upper float64) stated {
	_, at := byLoad(b.trials)
	typical := func(load float64) float64 {
		var loads []float64
		for _, t := range at[load] {
			loads = append(loads, offered(t))
		}
		return median(loads)
	}
	low, high := typical(lower), typical(upper)
	if low >= high { // a generator that is less exact than the bounds are apart
		low, high = min(low, lower), max(high, upper)
	}
	return stated{rate: math.Sqrt(low * high), low: low, high: high, basis: result.BasisBounds}
}

// surprising reports whether trials missed the goal far below the limits: then it is not
// the limits that decide it.
func surprising(all []outcome, g result.SearchGoal, f fitted) bool {
	missed := 0
	for _, o := range all {
		if !o.met && o.load < f.middle-math.Abs(f.slope)/2-4*f.deviation-width {
			missed++
		}
	}
	return missed > 1
}

// byLimits is the load that the exceed ratio's share of the limits lies under. With a
// drift, the interval holds where it was in the first trial and in the last.
func (w weather) byLimits(g result.SearchGoal) stated {
	f := w.fit
	z := normalQuantile(g.ExceedRatio)
	middle := f.middle + z*f.deviation - math.Log(1-g.LossRatio)
	half := w.fit.surely() * math.Hypot(f.middleError, z*f.deviation/math.Sqrt(2*f.weight))
	if w.drifting {
		half = math.Abs(f.slope)/2 + w.fit.surely()*math.Hypot(f.middleError, f.slopeError/2)
	}
	half = max(half, width/8)
	return stated{math.Exp(middle), math.Exp(middle - half), math.Exp(middle + half), result.BasisLimits, math.Abs(f.slope)}
}

// byModes is the limit of the mode that decides, and of either while it is not known which
// one does.
func (w weather) byModes(g result.SearchGoal) stated {
	_, least, most := w.modes.slowShare()
	slow, fast := w.modes.slow, w.modes.fast
	shift := -math.Log(1 - g.LossRatio)
	half := func(f fitted) float64 { return max(f.surely()*f.middleError, width/8) }
	low, high := slow.middle-half(slow), fast.middle+half(fast)
	middle := (low + high) / 2
	switch {
	case most < g.ExceedRatio:
		middle, low = fast.middle, fast.middle-half(fast)
	case least > g.ExceedRatio:
		middle, high = slow.middle, slow.middle+half(slow)
	}
	return stated{math.Exp(middle + shift), math.Exp(low + shift), math.Exp(high + shift), result.BasisModes, 0}
}

// surely is how many errors an interval reaches to either side: Student's 97.5th
// percentile, and a little more, because trials end when the interval is narrow enough.
func (f fitted) surely() float64 {
	free := max(1, f.weight-2)
	return stopping + 1.96 + 2.37/free + 2.8/(free*free)
}

const stopping = 0.75

// normalQuantile is the inverse of the standard normal distribution, by halving.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
