package search

import (
	"cmp"
	"math"
	"slices"

	"windtunnel/result"
)

// control is MLRsearch's controller: every goal's coarse step, then every goal's
// next one, so that short trials serve all goals before long ones begin. Smaller
// losses come first: what is found at a smaller load is not taken back later (the
// draft, section 5.3.4).
func (b *bench) control() error {
	goals := slices.Clone(b.Goals)
	slices.SortStableFunc(goals, func(x, y result.SearchGoal) int { return cmp.Compare(x.LossRatio, y.LossRatio) })
	ladders := make([][]step, len(goals))
	longest := 0
	for i, g := range goals {
		ladders[i] = ladder(g)
		longest = max(longest, len(ladders[i]))
	}
	if err := b.climb(ladders, longest); err != nil {
		return err
	}
	if b.keepsNone() {
		if err := b.descend(); err != nil {
			return err
		}
		if err := b.flatOut(); err != nil {
			return err
		}
		if b.keepsNone() {
			return b.pushAll()
		}
		if err := b.climb(ladders, longest); err != nil {
			return err
		}
	}
	if err := b.settle(ladders); err != nil {
		return err
	}
	return b.pushAll()
}

// climb goes up all goals' ladders, the longest of which has so many steps.
func (b *bench) climb(ladders [][]step, longest int) error {
	for rung := range longest {
		for _, l := range ladders {
			// Shorter ladders start later, so that all end together.
			if i := rung - (longest - len(l)); i >= 0 {
				if err := b.narrow(l, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// narrow measures until a step's relevant bounds are no further apart than its
// width, or there is nothing below the minimum or above the maximum to look at.
func (b *bench) narrow(l []step, i int) error {
	g := l[i].SearchGoal
	hints := b.hints(l, i)
	scouted := 0.0 // a load that one trial missed; 0: none
	for stride := 1.0; ; stride *= 2 {
		lower, upper := bounds(b.trials, g)
		if lower == 0 && scouted > 0 {
			upper = min(upper, scouted)
		}
		switch {
		case lower > 0 && upper > 0 && upper-lower <= g.Width*upper*(1+1e-9),
			upper == 0 && lower >= b.highest,
			lower == 0 && upper > 0 && upper <= b.MinLoad,
			b.keepsNone(), b.heldUp(g, lower, upper):
			return nil
		}
		load := b.next(lower, upper, g.Width, stride, &hints)
		if lower == 0 && stride >= scouts && load > b.MinLoad {
			t, err := b.trial(g.FinalTrialSeconds, load)
			if err != nil {
				return err
			}
			if t.Unusable != "" || uncarried(t) > g.LossRatio {
				scouted = load
				continue
			}
		}
		if err := b.decide(load, g); err != nil {
			return err
		}
	}
}

// scouts is the stride from which on one trial that missed is enough to go further down: a bound is to be found first.
const scouts = 8

// hints are loads that are likely to be a bound: those of the step before, and those
// around what arrived where too much was sent, each tried once.
func (b *bench) hints(l []step, i int) []float64 {
	var loads []float64
	if i > 0 {
		lower, upper := bounds(b.trials, l[i-1].SearchGoal)
		if limit := b.carried(); limit > 0 {
			g := l[i].SearchGoal
			middle := limit / (1 - g.LossRatio)
			loads = append(loads, middle*(1-aside*g.Width), middle*(1+aside*g.Width))
		}
		loads = append(loads, lower, upper)
	}
	return loads
}

// aside is how far from a likely limit its bounds are looked for, in widths: less
// than half of one, so that both are one width.
const aside = 0.45

// carried is what typically arrived in trials that lost, near the limit; 0 where
// none did. It is a hint for where to look and proves nothing.
func (b *bench) carried() float64 {
	var rates []float64
	for _, t := range b.trials {
		if missing := uncarried(t); t.Unusable == "" && missing > 0 && missing < nearby {
			rates = append(rates, t.ForwardingRate)
		}
	}
	return median(rates)
}

// nearby is a loss up to which a trial tells of the limit's surroundings.
const nearby = 0.2

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// next is the load to measure: a hint between the bounds, the middle of two bounds,
// or further out, in growing strides, where one is missing.
func (b *bench) next(lower, upper, width, stride float64, hints *[]float64) float64 {
	for len(*hints) > 0 {
		load := (*hints)[0]
		*hints = (*hints)[1:]
		if load > max(lower, b.MinLoad) && load < b.highest && (upper == 0 || load < upper) {
			return load
		}
	}
	switch came := b.came(upper); {
	case lower > 0 && upper > lower*(1+farApart*width) && came > lower && came*(1+aside*width) < upper:
		return came * (1 + aside*width)
	case lower > 0 && upper > 0:
		return min(math.Sqrt(lower*upper), lower*math.Exp(farApart*width*stride))
	case upper > 0 && came > 0:
		return max(b.MinLoad, min(upper*math.Exp(-width*stride), came*(1-aside*width)))
	case upper > 0:
		return max(b.MinLoad, upper*math.Exp(-width*stride))
	case lower > 0:
		return min(b.highest, lower*math.Exp(width*stride))
	}
	return b.highest
}

// farApart is how many widths lie between bounds whose middle is no good guess.
const farApart = 4

// came is what arrived at a load that was too high: the limit, if the path forwards what
// it can. 0 where nothing did, and where a generator fell a little short, as it may of any load.
func (b *bench) came(load float64) float64 {
	_, at := byLoad(b.trials)
	var rates []float64
	for _, t := range at[load] {
		if t.Short == 0 || t.Short > farApart*width {
			rates = append(rates, t.ForwardingRate)
		}
	}
	return median(rates)
}

// decide measures at a load until it is a bound.
func (b *bench) decide(load float64, g result.SearchGoal) error {
	for {
		_, at := byLoad(b.trials)
		if classify(at[load], g) != undecided {
			return nil
		}
		if _, err := b.trial(g.FinalTrialSeconds, load); err != nil {
			return err
		}
	}
}
