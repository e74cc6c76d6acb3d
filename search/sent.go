package search

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// Where a generator does not keep its loads, but sends nearly as much, a path's limit is told by what was really sent: MLRsearch counts what
// was not sent as not carried (the draft, section 4.7.1), which says nothing of the path.

// sent is whether the path carried what it was sent within a goal's loss, in each trial of full length, by what was sent. What is lost of a
// load that comes by turns may have been lost for the turns: it is left out, or it shows what the path carries at least.
func (b *bench) sent(g result.SearchGoal, turns bool) []outcome {
	var all []outcome
	for _, t := range b.trials {
		met := t.LossRatio <= g.LossRatio
		if t.Unusable == "" && t.Seconds >= g.FinalTrialSeconds && (met || turns || t.Short <= farShort) {
			all = append(all, outcome{math.Log(t.OfferedLoad), met})
		}
	}
	return all
}

// carries is where the path begins to lose what it is sent, and with turns what it carries at least; low is 0 where the trials do not tell.
func (b *bench) carries(g result.SearchGoal, turns bool) stated {
	all := b.sent(g, turns)
	if met, missed := counted(all); met < leastInMode || missed < leastInMode || len(all) < leastFitted {
		return stated{}
	}
	middle, low, high := fitOutcomes(all, stepOf(all))
	return stated{math.Exp(middle), math.Exp(low), math.Exp(high), result.BasisSent, 0}
}

// stepOf is a flat step where trials contradict each other far apart.
func stepOf(all []outcome) shape {
	if contradictFar(all) {
		return flat
	}
	return steep
}

func counted(all []outcome) (met, missed int) {
	for _, o := range all {
		if o.met {
			met++
		} else {
			missed++
		}
	}
	return met, missed
}

// push goes on where the generator leaves a goal open: as fast as it goes, while the path loses no more than the goal's of that; else about
// where it begins to.
func (b *bench) push(g result.SearchGoal) error {
	for fast := 0; ; {
		all := b.sent(g, true)
		load := b.highest
		switch met, lost := counted(all); {
		case lost == 0:
			if fast++; fast > flatTrials {
				return nil
			}
		case met == 0 && missed(all) <= math.Log(b.MinLoad):
			return nil
		case met == 0:
			load = math.Exp(missed(all)) / far
		default:
			_, low, high := fitOutcomes(all, stepOf(all))
			if len(all) >= leastFitted && high-low <= math.Log1p(g.LargestIntervalPercent/100) {
				return nil
			}
			load = math.Exp((low+high)/2) / (1 - b.usuallyShort(g))
		}
		if _, err := b.trial(g.FinalTrialSeconds, min(max(load, b.MinLoad), b.highest)); err != nil {
			return err
		}
	}
}

// usuallyShort is by what share the generator falls short of loads of which the path loses little enough.
func (b *bench) usuallyShort(g result.SearchGoal) float64 {
	const most = 0.5
	var shares []float64
	for _, t := range b.trials {
		if t.Unusable == "" && t.LossRatio <= g.LossRatio {
			shares = append(shares, 1-t.OfferedLoad/t.Load)
		}
	}
	return min(max(0, median(shares)), most)
}

// pushAll goes on with the goals that the generator leaves open: what is measured for one serves all.
func (b *bench) pushAll() error {
	w := b.observe()
	for _, g := range b.Goals {
		lower, upper := bounds(b.trials, g)
		atEnd := upper == 0 && lower >= b.highest
		if b.fellShort() == 0 || g.LargestIntervalPercent == 0 || atEnd || upper > 0 && !b.keepsNone() && !b.byGenerator(g, upper, b.state(g, w).basis) {
			continue
		}
		if err := b.push(g); err != nil {
			return err
		}
	}
	return nil
}

// Shares of the budget after which a goal's bounds are no longer looked for where the generator alone missed it: of one that has a lower
// bound, or whose generator rarely keeps a load, and of others.
const halfGone, mostGone = 0.5, 0.7

// heldUp reports whether it was the generator alone that missed a goal's upper bound, and much of the time is gone: the rest is worth more
// where the path may be.
func (b *bench) heldUp(g result.SearchGoal, lower, upper float64) bool {
	share := mostGone
	if clearly*lower > upper || b.rarelyKeeps() {
		share = halfGone
	}
	return b.Budget > 0 && b.spent > share*b.Budget && upper > 0 && b.byGenerator(g, upper, result.BasisBounds)
}

// rarelyKeeps reports whether the generator falls short even of loads that are far below what it sends: lower ones would be no better.
func (b *bench) rarelyKeeps() bool {
	short, kept := 0, 0
	for _, t := range b.trials {
		switch {
		case t.Load > b.best/far:
		case t.Unusable != "" || t.Short > 0:
			short++
		default:
			kept++
		}
	}
	return short > 1 && short > kept
}

// shortFrom is the lowest load above another at which the generator fell short in most trials; 0: none.
func (b *bench) shortFrom(lower float64) float64 {
	loads, at := byLoad(b.trials)
	for _, load := range loads {
		short := 0
		for _, t := range at[load] {
			if t.Short > 0 {
				short++
			}
		}
		if load > lower && 2*short > len(at[load]) {
			return load
		}
	}
	return 0
}

// sentLimit is whose a rate is that what was really sent tells.
func (b *bench) sentLimit(g result.SearchGoal, lower float64) result.Limit {
	met, missed := counted(b.sent(g, false))
	kept := "no load"
	if lower > 0 {
		kept = "no load above " + b.load(lower)
	}
	return result.Limit{Verdict: result.PathLimited,
		Says: fmt.Sprintf("the generator kept %s; of what it really sent, the path lost more than %g %% in %d trials and no more in %d: this is where it begins to%s",
			kept, 100*g.LossRatio, missed, met, b.beside())}
}
