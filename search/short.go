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

// disturbed reports whether a generator fell short of a load because another program had its CPU: the trial counts for nothing.
func (b *bench) disturbed(now result.SearchTrial) bool {
	kept, row := 0.0, 0
	for _, t := range b.trials {
		if row++; t.Unusable == "" && t.Short == 0 {
			kept, row = max(kept, t.OfferedLoad), 0
		}
	}
	isFar := now.OfferedLoad < (1-farShort)*now.Load
	return row < mostDisturbed && (kept > clearly*now.Load || b.best > far*now.Load || isFar && b.best > clearly*now.Load)
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

// atLeast is a rate of which only the lower side is known, and what the generator reached: s is what it and the path carried together.
func (b *bench) atLeast(g result.SearchGoal, s stated, lower float64) (rate result.Figure, reached *result.Figure) {
	if s.low > 0 {
		if s.basis != result.BasisBounds { // of what was not sent, none may be missing
			s.rate, s.low, s.high = s.rate*(1-g.LossRatio), s.low*(1-g.LossRatio), s.high*(1-g.LossRatio)
		}
		reached = &result.Figure{Mean: s.rate, Low: &s.low, High: &s.high, N: len(b.trials)}
		return result.Figure{Mean: s.rate, Low: &s.low, N: len(b.trials)}, reached
	}
	rates := b.short(g)
	if lower > 0 {
		if kept := b.kept(lower); median(rates) <= median(kept) {
			rates = kept
		}
	}
	if len(rates) == 0 {
		return result.Missing("no load was measured long enough"), nil
	}
	f := medianBounds(rates)
	least := f.Mean
	if f.Low != nil {
		least = *f.Low
	}
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

// beside says what a generator reaches without the path, where that is much more: then it is the path's work on its CPU that slows it.
func (b *bench) beside() string {
	if b.Alone < farFaster*b.best || b.best == 0 {
		return ""
	}
	return fmt.Sprintf(" (without the path it makes %.4g: the path's work is done on its CPU, and this is what both come to there)", b.Alone)
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

// flatOut measures what a generator that keeps no load reaches, often enough that its median has bounds that say something.
func (b *bench) flatOut() error {
	const enough = 12
	for n := 0; n < enough && b.keepsNone(); {
		t, err := b.trial(b.full(), b.highest)
		if err != nil {
			return err
		}
		if t.Load >= b.best {
			n++
		}
	}
	return nil
}
