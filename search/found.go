package search

import (
	"fmt"
	"math"
	"slices"

	"windtunnel/result"
)

// result is a goal's result.
func (b *bench) result(g result.SearchGoal, w weather) result.SearchResult {
	lower, upper := bounds(b.trials, g)
	_, at := byLoad(b.trials)
	r := result.SearchResult{LowerBound: lower, UpperBound: upper}
	if lower > 0 {
		r.ConditionalThroughput = conditionalThroughput(lower, at[lower], g)
	}
	var s stated
	met := outcomes(b.trials, g)
	either := upper == 0 && contradict(met) && len(met) >= leastFitted // no load decides it, but all of them together do
	if upper > 0 || either {
		s = b.state(g, w)
	}
	either = either && s.basis == result.BasisOutcomes
	generator := upper > 0 && (b.byGenerator(g, upper, s.basis) || b.keepsNone())
	if generator { // the path's there is none
		r.LowerBound, r.UpperBound = min(lower, median(b.kept(lower))), 0
	}
	r.Limit = b.limit(g, lower, upper, generator)
	r.Why = b.irregular(g, lower, upper, generator)
	r.Regular = r.Why == ""
	if generator || upper == 0 {
		if r.ShortFrom = b.shortFrom(lower); b.Method == result.MethodMLR && r.ShortFrom > 0 {
			if by := b.carries(g, false); by.low > 0 {
				return b.bySent(r, g, by)
			}
		}
	}
	switch {
	case generator || upper == 0 && !either:
		if r.Rate, r.Reached = b.atLeast(g, s, lower); r.Rate.Known() {
			switch r.Basis = result.BasisBounds; {
			case s.low > 0:
				r.Basis = s.basis
			case lower == 0:
				r.Basis = result.BasisSent
			}
		}
	case !(s.low > 0):
		r.Rate = result.Missing(fmt.Sprintf("no load met the goal, down to %s", b.load(upper)))
	default:
		r.Rate = result.Figure{Mean: s.rate, Low: &s.low, High: &s.high, N: len(b.trials)}
		r.Basis = s.basis
	}
	return r
}

// bySent is a result whose rate is told by what was really sent.
func (b *bench) bySent(r result.SearchResult, g result.SearchGoal, by stated) result.SearchResult {
	r.Rate = result.Figure{Mean: by.rate, Low: &by.low, High: &by.high, N: len(b.trials)}
	r.Basis, r.Limit = by.basis, b.sentLimit(g, r.LowerBound)
	r.Regular, r.Why = false, "the generator keeps no load at the rate: it is told by what was really sent"
	return r
}

// irregular says why a goal's result is not regular, "" if it is.
func (b *bench) irregular(g result.SearchGoal, lower, upper float64, generator bool) string {
	switch {
	case generator && lower > 0:
		return "there is no upper bound: the generator keeps no higher load"
	case generator:
		return "there is no lower bound: the generator kept no load long enough"
	case lower == 0 && upper == 0:
		return "the search ended before any load was measured long enough"
	case upper == 0 && lower >= b.highest && b.generator > 0:
		return "there is no upper bound: the generator reaches no higher load"
	case upper == 0 && lower >= b.highest:
		return "there is no upper bound: the largest load met the goal"
	case upper == 0:
		return "there is no upper bound yet: the search ended before"
	case lower == 0 && upper <= b.MinLoad:
		return "there is no lower bound: even the smallest load did not meet the goal"
	case lower == 0:
		return "there is no lower bound yet: the search ended before"
	case upper-lower > g.Width*upper*(1+1e-9):
		return fmt.Sprintf("the bounds are %.2g %% apart, more than the width of %.2g %%: the search ended before", 100*(1-lower/upper), 100*g.Width)
	}
	return ""
}

// limit says what set a goal's rate.
func (b *bench) limit(g result.SearchGoal, lower, upper float64, generator bool) result.Limit {
	switch {
	case generator && lower > 0:
		return result.Limit{Verdict: result.GeneratorLimited,
			Says: fmt.Sprintf("above %s the generator fell short, and what it sent met the goal: the path carries as much or more%s", b.load(lower), b.beside())}
	case lower == 0 && (upper == 0 || generator) && b.fellShort() > 0:
		says := fmt.Sprintf("the generator sent less than it was asked for in %d of %d trials, and kept no load long enough", b.fellShort(), len(b.trials))
		if rates := b.short(g); len(rates) > 0 {
			says += fmt.Sprintf("; what it sent met the goal in %d of these, so the path carries %s or more", len(rates), b.load(median(rates)))
		}
		if c := b.carries(g, true); c.low > 0 {
			says += fmt.Sprintf("; %s of what it sent met the goal in most trials, so the path carries as much or more", b.load(c.low))
		}
		return result.Limit{Verdict: result.GeneratorLimited, Says: says + b.beside()}
	case upper == 0 && lower == 0:
		return result.Limit{Says: "no verdict: no load was measured long enough"}
	case upper == 0 && lower >= b.highest && b.generator > 0:
		return result.Limit{Verdict: result.GeneratorLimited,
			Says: fmt.Sprintf("the generator keeps %s at most, and that met the goal: the path carries as much or more%s", b.load(lower), b.beside())}
	case upper == 0 && lower < b.highest && b.fellShortAbove(lower, g):
		return result.Limit{Verdict: result.GeneratorLimited,
			Says: fmt.Sprintf("%s met the goal, and the search ended before more was known: above it the generator fell short%s", b.load(lower), b.beside())}
	case upper == 0 && lower < b.highest:
		return result.Limit{Says: fmt.Sprintf("no verdict: %s met the goal, and the search ended before more was known", b.load(lower))}
	case upper == 0:
		return result.Limit{Verdict: result.RateReached, Says: fmt.Sprintf("%s met the goal, and no more was tried", b.load(lower))}
	}
	missed, receiver, short := 0, 0, 0
	_, at := byLoad(b.trials)
	for _, t := range at[upper] {
		if t.LossRatio > g.LossRatio {
			missed++
			if t.Limit == result.ReceiverLimited {
				receiver++
			}
			if t.Short > 0 {
				short++
			}
		}
	}
	if 2*receiver > missed {
		return result.Limit{Verdict: result.ReceiverLimited,
			Says: fmt.Sprintf("at the upper bound, %d of %d lossy trials were lost by the receiver: the path carries as much or more", receiver, missed)}
	}
	says := fmt.Sprintf("%d trials at %s lost more than %g %%", missed, b.load(upper), 100*g.LossRatio)
	if 2*short > missed {
		says += " of what was sent, and the generator fell short there, too" + b.beside()
	}
	return result.Limit{Verdict: result.PathLimited, Says: says}
}

// doubts says what a reader should know before the rates are used.
func (b *bench) doubts(s result.Search, w weather) []result.Doubt {
	var all []result.Doubt
	say := func(kind, format string, args ...any) {
		all = append(all, result.Doubt{Kind: kind, Says: fmt.Sprintf(format, args...)})
	}
	if w.bimodal {
		share, _, _ := w.modes.slowShare()
		say("bimodal", "the path has two modes: in %.0f %% of %d trials its limit was about %s, else %s",
			100*share, w.modes.trials, b.load(math.Exp(w.modes.slow.middle)), b.load(math.Exp(w.modes.fast.middle)))
	}
	if w.drifting {
		say("drifting", "the path's limit moved by %+.1f %% from the first trial to the last: intervals hold both",
			100*math.Expm1(w.fit.slope))
	}
	if w.noisy && w.fit.weight > 0 && !w.bimodal && w.fit.deviation > width {
		say("noisy", "the path's limit varied by %.1f %% (a standard deviation) from trial to trial", 100*w.fit.deviation)
	}
	if b.generator > 0 && slices.ContainsFunc(s.Found, func(r result.SearchResult) bool { return r.Limit.Verdict == result.GeneratorLimited }) {
		say("generator-limited", "the generator reached %s at most, and the path may carry more: which of two paths carries more is not known beyond that",
			b.load(b.generator))
	}
	for i, g := range b.Goals {
		r := s.Found[i]
		if inverted(b.trials, g) {
			say("loss-inversion", "at a loss of %g %%, a load above the upper bound met the goal: the smaller load is believed", 100*g.LossRatio)
		}
		if r.Rate.Known() && r.Rate.High != nil && g.LargestIntervalPercent > 0 && *r.Rate.High/(*r.Rate.Low)-1 > g.LargestIntervalPercent/100 {
			say("wide-interval", "at a loss of %g %%, the interval is wider than %g %%: a longer budget narrows it", 100*g.LossRatio, g.LargestIntervalPercent)
		}
	}
	return all
}

// inverted reports whether a lower bound lies above the relevant upper one.
func inverted(trials []result.SearchTrial, g result.SearchGoal) bool {
	loads, at := byLoad(trials)
	above := false
	for _, load := range loads {
		switch classify(at[load], g) {
		case upperBound:
			above = true
		case lowerBound:
			if above {
				return true
			}
		}
	}
	return false
}
