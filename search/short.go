package search

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// fallenShort is a trial of a generator that fell short as mlrsearch counts it: a load that was not offered was not carried (the draft,
// section 4.7.1), by whomever. Its loss ratio stays what the path lost of what it was sent, which tells who it was. The path, if that is
// too much: it was lost at no more than this load. Else the generator, and the path carried what it was sent.
func fallenShort(t result.SearchTrial) result.SearchTrial {
	t.Unusable = ""
	t.Short = 1 - t.OfferedLoad/t.Load
	t.ForwardingRate = (t.Received - t.Queued) / t.Sent * t.OfferedLoad
	return t
}

// reached keeps the best that the generator sends where it falls short. What it did before the search is not what it does under a
// load that it is told, but one trial does not show that.
func (b *bench) reached(offered float64) {
	b.best = max(b.best, offered)
	if b.generator == 0 || b.fellShort() > 0 {
		b.generator = b.best
	}
}

// What tells a generator that was disturbed from one that reaches no more: it kept a load so many times as high; or sent, at a
// higher one that it did not keep, so many times the load, or fewer and now falls so far short. That is believed so often in a row.
const (
	clearly       = 1.1
	far           = 2
	farShort      = 0.05
	mostDisturbed = 4
)

// disturbed reports whether a generator fell short of a load because another program had its CPU: the trial counts for nothing. That it
// kept a lower load since says nothing of what it once sent at a higher one, and did not keep.
func (b *bench) disturbed(now result.SearchTrial) bool {
	kept, row, rowHere := 0.0, 0, 0
	for _, t := range b.trials {
		row, rowHere = row+1, rowHere+1
		if t.Unusable == "" && t.Short == 0 {
			kept, row = max(kept, t.OfferedLoad), 0
			if t.Load >= now.Load {
				rowHere = 0
			}
		}
	}
	isFar := now.OfferedLoad < (1-farShort)*now.Load
	return row < mostDisturbed && kept > clearly*now.Load ||
		rowHere < mostDisturbed && (b.best > far*now.Load || isFar && b.best > clearly*now.Load)
}

// uncarried is the share of a trial's load that did not come.
func uncarried(t result.SearchTrial) float64 {
	if t.Short > 0 {
		return 1 - t.ForwardingRate/t.Load
	}
	return t.LossRatio
}

// offered is the load that a trial speaks of: what was really sent, unless much less was than it was to be.
func offered(t result.SearchTrial) float64 {
	if t.Short > 0 {
		return t.Load
	}
	return t.OfferedLoad
}

// ofGenerators is the share of fitted trials that missed a goal for the generator alone from which on it is not the path that sets the rate.
const ofGenerators = 0.1

// byGenerator reports whether it is the generator that sets a goal's rate: in most of the trials that make the upper bound one, or
// where a rate is fitted, in more than a few of all that missed the goal, each of which makes it lower than the path's.
func (b *bench) byGenerator(g result.SearchGoal, upper float64, basis string) bool {
	missed, alone := b.missed(g, func(t result.SearchTrial) bool {
		if basis == result.BasisBounds {
			return t.Load == upper
		}
		return t.Seconds >= g.FinalTrialSeconds
	})
	if basis == result.BasisBounds {
		return 2*alone > missed
	}
	return float64(alone) > ofGenerators*float64(missed)
}

// missed counts the trials of some that missed a goal, and those of them that did so for the generator alone.
func (b *bench) missed(g result.SearchGoal, some func(result.SearchTrial) bool) (all, alone int) {
	for _, t := range b.trials {
		if t.Unusable != "" || uncarried(t) <= g.LossRatio || !some(t) {
			continue
		}
		if all++; t.LossRatio <= g.LossRatio {
			alone++
		}
	}
	return all, alone
}

// atLeast is a rate of which only the lower side is known, and what the generator reached: s is what it and the path carried together. What
// was sent in trials that fell short tells more, where it is more.
func (b *bench) atLeast(g result.SearchGoal, s stated, lower float64) (rate result.Figure, reached *result.Figure) {
	rates := b.short(g)
	if s.low > 0 {
		if s.basis != result.BasisBounds { // of what was not sent, none may be missing
			s.rate, s.low, s.high = s.rate*(1-g.LossRatio), s.low*(1-g.LossRatio), s.high*(1-g.LossRatio)
		}
		if f := medianBounds(rates); f.Low == nil || *f.Low < s.low {
			reached = &result.Figure{Mean: s.rate, Low: &s.low, High: &s.high, N: len(b.trials)}
			return result.Figure{Mean: s.rate, Low: &s.low, N: len(b.trials)}, reached
		}
	}
	if lower > 0 {
		if kept := b.kept(lower); median(rates) <= median(kept) {
			rates = kept
		}
	}
	turned := b.carries(g, true)
	f := medianBounds(rates)
	switch {
	case f.Low != nil && *f.Low >= turned.low:
	case len(rates) > 0 && f.Mean >= turned.low:
		return b.atLeastOf(f, f.Mean)
	case turned.low > 0:
		return result.Figure{Mean: turned.rate, Low: &turned.low, N: len(b.trials)}, nil
	default:
		return result.Missing("no load was measured long enough"), nil
	}
	return b.atLeastOf(f, *f.Low)
}

// atLeastOf is a rate of which the lower side is known, and what was reached, which the generator set if it fell short at all.
func (b *bench) atLeastOf(f result.Figure, least float64) (rate result.Figure, reached *result.Figure) {
	if b.fellShort() > 0 || b.generator > 0 {
		reached = &f
	}
	return result.Figure{Mean: f.Mean, Low: &least, N: len(b.trials)}, reached
}

// fellShortAbove reports whether most trials above a load that missed the goal did so for the generator alone.
func (b *bench) fellShortAbove(load float64, g result.SearchGoal) bool {
	missed, alone := b.missed(g, func(t result.SearchTrial) bool { return t.Load > load })
	return 2*alone > missed
}

// kept is what was really sent at a load.
func (b *bench) kept(load float64) []float64 {
	_, at := byLoad(b.trials)
	var rates []float64
	for _, t := range at[load] {
		rates = append(rates, t.OfferedLoad)
	}
	return rates
}

// medianBounds are of the median, whatever the distribution: order statistics between which it lies with 95 %. Fewer than six
// values have none.
func medianBounds(values []float64) result.Figure {
	f := result.Figure{Mean: median(values), N: len(values)} // in order from here on
	n, outside, below := float64(len(values)), math.Pow(0.5, float64(len(values))), 0
	for sum := outside; sum <= 0.025; sum += outside {
		below++
		outside *= (n - float64(below) + 1) / float64(below)
	}
	if below > 0 {
		f.Low, f.High = &values[below-1], &values[len(values)-below]
	}
	return f
}

// short is what the generator sent, within a goal's loss, in trials in which that was less than it was asked for: they are at no load of
// the search, but the path did carry that. Trials at loads below the best that it reached do not tell what it reaches. None where
// as many of the trials that fell short, or of all at no higher rates, missed the goal as it does not allow: one that
// met it by chance says nothing.
func (b *bench) short(g result.SearchGoal) []float64 {
	var rates []float64
	asked := 0
	for _, t := range b.trials {
		if (t.Short == 0 && t.Unusable == "") || t.Load < b.best {
			continue
		}
		if asked++; t.LossRatio <= g.LossRatio {
			rates = append(rates, t.OfferedLoad)
		}
	}
	carried := median(rates)
	met, lower := 0, 0
	for _, t := range b.trials {
		if t.OfferedLoad <= carried {
			lower++
			if t.LossRatio <= g.LossRatio {
				met++
			}
		}
	}
	if allowed := 1 - g.ExceedRatio; float64(len(rates)) < allowed*float64(asked) || float64(met) < allowed*float64(lower) {
		return nil
	}
	return rates
}

// fellShort is in how many trials the generator did.
func (b *bench) fellShort() int {
	n := 0
	for _, t := range b.trials {
		if t.Unusable != "" || t.Short > 0 {
			n++
		}
	}
	return n
}

// beside says what keeps the generator from more: whoever else has its CPU, or where it reaches much more without the path, the path's
// work there.
func (b *bench) beside() string {
	if starved, fell, waited := b.starved(); 2*starved > fell {
		return fmt.Sprintf(" (in %d of the %d trials that fell short its threads could run and had no CPU, for %.0f %% of the time: give them CPUs of their own)",
			starved, fell, 100*waited/float64(starved))
	}
	if b.Alone < farFaster*b.best || b.best == 0 {
		return ""
	}
	return fmt.Sprintf(" (without the path it makes %s: the path's work is done on its CPU, and this is what both come to there)", b.load(b.Alone))
}

// starved counts the trials that fell short, and those of them in which the generator waited for a CPU for half as long as it fell short,
// as traffic.Judge has it: a paced sender that is late by more than a burst does not catch up. Waited is their shares of the time, summed.
func (b *bench) starved() (starved, fell int, waited float64) {
	for _, t := range b.trials {
		if t.Unusable == "" && t.Short == 0 {
			continue
		}
		if fell++; t.Waited > 0 && t.Waited >= (1-t.OfferedLoad/t.Load)/2 {
			starved++
			waited += t.Waited
		}
	}
	return starved, fell, waited
}

// farFaster is from what factor on a generator without a path is faster than with one by the path's work.
const farFaster = 1.25

// none is what trials at loads that a generator had sent before fall short in all, as shares, from which on it keeps no load.
const none = 0.3

// keepsNone reports whether the generator kept no load at all, even where it was asked for no more than it had sent before: its trials come
// down to nothing then, as those of one that gets its CPU by turns do.
func (b *bench) keepsNone() bool {
	short := 0.0
	for _, t := range b.trials {
		switch {
		case t.Short == 0 && t.Unusable == "":
			return false
		case t.Short > 0 && t.Load <= b.best:
			short += t.Short
		}
	}
	return short > none
}

// How often a generator is measured as fast as it goes, so that the median has bounds that say something; and after how many of these
// it is given up where the path loses too much of most.
const flatTrials, flatLost = 12, 4

// flatOut measures what a generator that keeps no load reaches; one that keeps none at all until that is known well.
func (b *bench) flatOut() error {
	met := map[float64]int{}
	for n := 0; n < flatTrials || b.keepsNone() && b.reachedWide(); {
		t, err := b.trial(b.full(), b.highest)
		if err != nil {
			return err
		}
		if t.Load < b.best {
			continue
		}
		n++
		most := 0
		for _, g := range b.Goals {
			if t.LossRatio <= g.LossRatio {
				met[g.LossRatio]++
			}
			most = max(most, met[g.LossRatio])
		}
		if n >= flatLost && 2*most < n {
			return nil
		}
	}
	return nil
}

// reachedWide reports whether what the generator reaches is known less well than a goal wants its rate.
func (b *bench) reachedWide() bool {
	for _, g := range b.Goals {
		rates := b.short(g)
		if f := medianBounds(rates); len(rates) > 0 && g.LargestIntervalPercent > 0 && (f.Low == nil || *f.High/(*f.Low) > 1+g.LargestIntervalPercent/100) {
			return true
		}
	}
	return false
}

// stepDown is by what factor loads are lowered to find one that a generator keeps.
const stepDown = 4

// descend looks for a load that the generator keeps, by one short trial each.
func (b *bench) descend() error {
	seconds := b.full()
	for _, g := range b.Goals {
		seconds = min(seconds, g.InitialTrialSeconds)
	}
	for load := b.best; load > b.MinLoad && b.keepsNone(); {
		load = max(load/stepDown, b.MinLoad)
		if _, err := b.trial(seconds, load); err != nil {
			return err
		}
	}
	return nil
}
