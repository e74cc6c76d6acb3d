package result

import (
	"fmt"
	"math"
	"strings"
)

// FormatLoad writes a load of a search in its unit, in five digits.
func FormatLoad(unit string, perSecond float64) string {
	const digits = 5
	if unit == BitsPerSecond {
		return inRateUnit(perSecond, digits)
	}
	return strings.TrimSuffix(inPacketUnit(perSecond, digits), "/s") + " packets/s"
}

// Name is the goal as people call it.
func (g SearchGoal) Name() string {
	if g.LossRatio == 0 {
		return "no loss"
	}
	return percentOf(g.LossRatio) + " loss"
}

// Attributes are all of the goal's, as draft-ietf-bmwg-mlrsearch-15, section 4.7.3, wants them reported.
func (g SearchGoal) Attributes() string {
	text := fmt.Sprintf("loss ratio %s, exceed ratio %s, final trial duration %.4g s, duration sum %.4g s, initial trial duration %.4g s, width %s (relative: 1 - lower/upper bound)",
		percentOf(g.LossRatio), percentOf(g.ExceedRatio), g.FinalTrialSeconds, g.DurationSumSeconds, g.InitialTrialSeconds, percentOf(g.Width))
	if g.Repeats > 0 {
		text += fmt.Sprintf(", a lossy trial is repeated %d times", g.Repeats)
	}
	return text
}

func percentOf(ratio float64) string {
	return fmt.Sprintf("%g %%", math.Round(ratio*1e8)/1e6)
}

// countedShare is one of packets that were counted, to a thousandth of a per cent: neither none of a little nor all of less, as one
// packet of a million decides about a goal of no loss.
func countedShare(ratio float64) string {
	const finest = 1e-5
	switch {
	case ratio > 0 && ratio < finest/2:
		return "< 0.001 %"
	case ratio < 1 && ratio > 1-finest/2:
		return "> 99.999 %"
	}
	return percentOf(math.Round(ratio/finest) * finest)
}

// Bounds are a result's relevant bounds, marked where the result is not regular.
func (r SearchResult) Bounds(unit string) string {
	bound := func(load float64) string {
		if load == 0 {
			return "none"
		}
		return FormatLoad(unit, load)
	}
	text := bound(r.LowerBound) + " to " + bound(r.UpperBound)
	if !r.Regular {
		text += " (IRREGULAR: " + r.Why + ")"
	}
	return text
}

// RateWords are a result's rate with its interval.
func (r SearchResult) RateWords(unit string) string {
	f := r.Rate
	switch {
	case !f.Known():
		return "not found: " + f.Reason
	case f.Low != nil && f.High != nil:
		return fmt.Sprintf("%s [%s, %s] by %s", FormatLoad(unit, f.Mean), FormatLoad(unit, *f.Low), FormatLoad(unit, *f.High), r.Basis)
	}
	least := f.Mean
	if f.Low != nil {
		least = *f.Low
	}
	text := "at least " + FormatLoad(unit, least)
	if words := r.ReachedWords(unit); words != "" {
		text += "; " + words
	}
	return text
}

// ReachedWords say what the generator reached where it set the rate, "" where it did not.
func (r SearchResult) ReachedWords(unit string) string {
	if r.Reached == nil || !r.Reached.Known() {
		return ""
	}
	text := "the generator reached " + FormatLoad(unit, r.Reached.Mean)
	if r.Reached.Low != nil && r.Reached.High != nil {
		text += fmt.Sprintf(" [%s, %s]", FormatLoad(unit, *r.Reached.Low), FormatLoad(unit, *r.Reached.High))
	}
	return text
}

// KeptWords say up to where the generator kept its loads, "" where it kept all that it was asked for. The figures are of trials of full length.
func (r SearchResult) KeptWords(unit string) string {
	switch {
	case r.ShortFrom == 0:
		return ""
	case r.LowerBound == 0:
		return fmt.Sprintf("the generator kept no load within the goal for long enough, and fell short from %s on", FormatLoad(unit, r.ShortFrom))
	}
	return fmt.Sprintf("within the goal the generator kept %s for long enough, and fell short from %s on", FormatLoad(unit, r.LowerBound), FormatLoad(unit, r.ShortFrom))
}

// Attributes are what a search has beside its goals and results.
func (s Search) Attributes() string {
	text := fmt.Sprintf("%s, loads from %s to %s (the total of all pairs, one way), %d trials with %.1f s of traffic in %.1f s, ended: %s",
		s.Method, FormatLoad(s.Unit, s.MinLoad), FormatLoad(s.Unit, s.MaxLoad), len(s.Trials), s.TrafficSeconds, s.SpentSeconds, s.Ended)
	if s.BudgetSeconds > 0 {
		text += fmt.Sprintf(" (budget %g s)", s.BudgetSeconds)
	}
	return text
}

// Words are a trial in one line.
func (t SearchTrial) Words(unit string) string {
	text := fmt.Sprintf("%5.2f s at %s: %s lost", t.EffectiveSeconds, FormatLoad(unit, t.Load), countedShare(t.LossRatio))
	if t.Queued > 0 {
		text += fmt.Sprintf(" (%s in a queue that grew)", countedShare(t.Queued/t.Sent))
	}
	if t.Short > 0 {
		text += fmt.Sprintf(" of what was sent; the generator fell %s short", countedShare(t.Short))
	}
	if t.Unusable != "" {
		text += ", not usable: " + t.Unusable
	}
	return text
}

// Words are a latency in one line.
func (l SearchLatency) Words(unit string) string {
	where := fmt.Sprintf("at %.0f %%, %s", 100*l.Share, FormatLoad(unit, l.Load))
	if l.Reason != "" {
		return where + ": no result: " + l.Reason
	}
	var parts []string
	for _, q := range []string{"p50", "p90", "p99", "max"} {
		if f, ok := l.Seconds[q]; ok && f.Known() {
			parts = append(parts, fmt.Sprintf("%s %.1f us", q, 1e6*f.Mean))
		}
	}
	return fmt.Sprintf("%s: %s, %s lost", where, strings.Join(parts, ", "), countedShare(l.LossRatio))
}
