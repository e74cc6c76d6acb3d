package search

import (
	"math"
	"slices"
)

// weather is what the trials say of a path's noise.
type weather struct {
	points   []point
	noisy    bool // trials contradict each other
	fitted   bool // there are enough trials for what follows
	fit      fitted
	drifting bool
	modes    modes
	bimodal  bool
	bent     bool // the path does not forward what it can: limits say nothing
	follows  bool // what arrives follows what is sent
}

// leastFitted is how many trials' worth a fit needs.
const leastFitted = 12

// steepSlope is how many errors a slope must differ from none to be a drift: by chance one
// search in 100 has it.
const steepSlope = 2.6

// unlike is a deviation of limits at which trials contradict each other: a quarter of
// the default width, several times what counting packets brings.
const unlike = width / 4

// observe looks at all trials that have the goals' full length.
func (b *bench) observe() weather {
	w := weather{points: points(b.trials, b.full()), bent: b.bent}
	for _, g := range b.Goals {
		w.noisy = w.noisy || contradict(outcomes(b.trials, g))
	}
	within, _ := scatterWithin(w.points)
	w.noisy = w.noisy || within > unlike
	if !w.noisy || lossy(w.points) < leastFitted/2 {
		return w
	}
	w.fit = fit(w.points, false)
	line := fit(w.points, true)
	if follow(w.points, max(w.fit.likelihood, line.likelihood)) {
		w.bent, w.follows = true, true
		return w
	}
	if math.Abs(line.slope) > math.Max(steepSlope*line.slopeError, width/2) {
		w.fit, w.drifting = line, true
	}
	w.modes, w.bimodal = findModes(w.points)
	if w.bimodal && w.drifting && line.deviation < w.modes.fast.deviation+w.modes.slow.deviation {
		w.bimodal = false // a line cut in two is no two levels
	}
	w.drifting = w.drifting && !w.bimodal
	w.fitted = w.fit.weight >= leastFitted
	return w
}

func lossy(points []point) int {
	n := 0
	for _, p := range points {
		if p.lost {
			n++
		}
	}
	return n
}

// full is the length of trials that count for every goal.
func (b *bench) full() float64 {
	seconds := 0.0
	for _, g := range b.Goals {
		seconds = max(seconds, g.FinalTrialSeconds)
	}
	return seconds
}

// scatterWithin is the deviation of the limits of trials at the same load: what a
// path without noise does not have, however it loses. free is how many trials say so.
func scatterWithin(all []point) (deviation, free float64) {
	at := map[float64][]point{}
	for _, p := range all {
		if p.lost {
			at[p.asked] = append(at[p.asked], p)
		}
	}
	sum := 0.0
	for _, same := range at {
		if len(same) > 1 {
			sum += scatter(same)
			free += float64(len(same) - 1)
		}
	}
	if free == 0 {
		return 0, 0
	}
	return math.Sqrt(sum / free), free
}

// suspicious reports whether limits differ, in trials of any length, while too few have been at
// the same load to tell whether that is noise or the way in which the path loses.
func (b *bench) suspicious(w weather) bool {
	lost := b.lossy()
	_, free := scatterWithin(w.points)
	return len(lost) > 1 && level(lost).deviation > unlike && free < leastAlike && !w.noisy
}

// lossy are the trials of any length that lost.
func (b *bench) lossy() []point {
	return slices.DeleteFunc(points(b.trials, 0), func(p point) bool { return !p.lost })
}

// leastAlike is how many trials beyond the first of their load show a path to be
// without noise.
const leastAlike = 5
