package search

import (
	"fmt"

	"windtunnel/result"
)

// Methods are the words of Config.Method.
func Methods() []string {
	return []string{result.MethodMLR, result.MethodRFC2544, result.MethodTST009}
}

// What MLRsearch's goals have by default: the draft recommends an exceed ratio of
// one half, and widths not below the loss; the times are a search of a minute's.
const (
	finalTrial      = 0.5 // seconds
	initialTrial    = 0.25
	durationSum     = 3.0
	exceed          = 0.5
	width           = 0.005
	largestInterval = 2.0 // per cent
)

// leastInterval is what an interval of a rate in noise can be, in per cent: one by limits has width/8 to either side (state.go), and one
// by outcomes is wider yet.
const leastInterval = 0.2

// DefaultBudget is how long an MLRsearch with default goals may take, in seconds.
const DefaultBudget = 60.0

// Goal is MLRsearch's default goal for a loss.
func Goal(lossRatio float64) result.SearchGoal {
	return result.SearchGoal{LossRatio: lossRatio, ExceedRatio: exceed, FinalTrialSeconds: finalTrial, DurationSumSeconds: durationSum,
		InitialTrialSeconds: initialTrial, Width: width, LargestIntervalPercent: largestInterval}
}

// Strict is RFC 2544's throughput, section 26.1, with the trials of 60 s of its
// section 24.
func Strict(lossRatio float64) result.SearchGoal {
	return result.SearchGoal{LossRatio: lossRatio, FinalTrialSeconds: 60, DurationSumSeconds: 60, InitialTrialSeconds: 60, Width: width}
}

// Verified is TST009's binary search with loss verification: a lossy trial is
// repeated once. The draft's section 4.8.3 has its attributes.
func Verified(lossRatio float64) result.SearchGoal {
	g := Strict(lossRatio)
	g.ExceedRatio, g.Repeats = 0.5, 1
	g.DurationSumSeconds = 2 * g.FinalTrialSeconds
	return g
}

// GoalOf is a method's default goal for a loss.
func GoalOf(method string, lossRatio float64) result.SearchGoal {
	switch method {
	case result.MethodRFC2544:
		return Strict(lossRatio)
	case result.MethodTST009:
		return Verified(lossRatio)
	}
	return Goal(lossRatio)
}

// Lengthened is a goal with final trials of another length, and the same number of them
// at a load. The first ones are no longer than before, if there were shorter ones.
func Lengthened(g result.SearchGoal, seconds float64) result.SearchGoal {
	trials := g.DurationSumSeconds / g.FinalTrialSeconds
	if g.InitialTrialSeconds == g.FinalTrialSeconds {
		g.InitialTrialSeconds = seconds
	}
	g.InitialTrialSeconds = min(g.InitialTrialSeconds, seconds)
	g.FinalTrialSeconds, g.DurationSumSeconds = seconds, seconds*trials
	return g
}

func checkGoal(g result.SearchGoal) error {
	switch {
	case !(g.LossRatio >= 0 && g.LossRatio < 1):
		return fmt.Errorf("a loss ratio of %g is not from 0 up to below 1", g.LossRatio)
	case !(g.ExceedRatio >= 0 && g.ExceedRatio < 1):
		return fmt.Errorf("an exceed ratio of %g is not from 0 up to below 1", g.ExceedRatio)
	case !(g.FinalTrialSeconds > 0) || !(g.InitialTrialSeconds > 0) || g.InitialTrialSeconds > g.FinalTrialSeconds:
		return fmt.Errorf("trials of %g s to %g s: both must be above 0, and the last no shorter than the first", g.InitialTrialSeconds, g.FinalTrialSeconds)
	case !(g.DurationSumSeconds >= g.FinalTrialSeconds):
		return fmt.Errorf("a duration sum of %g s is shorter than the final trial of %g s", g.DurationSumSeconds, g.FinalTrialSeconds)
	case !(g.Width > 0 && g.Width < 1):
		return fmt.Errorf("a width of %g is not between 0 and 1", g.Width)
	case g.Repeats < 0 || g.Repeats > 100:
		return fmt.Errorf("%d repeats are not from 0 to 100", g.Repeats)
	case !(g.LargestIntervalPercent >= 0):
		return fmt.Errorf("an interval of %g %% is none", g.LargestIntervalPercent)
	}
	return nil
}

// checkInterval refuses an interval that no trials bring, for which a search would go on until its budget ends, and one that a strict method
// does not look at.
func checkInterval(method string, g result.SearchGoal) error {
	switch strict := method != result.MethodMLR; {
	case strict && g.LargestIntervalPercent != 0:
		return fmt.Errorf("the widest interval of %g %% has no effect on %s, which knows no noise: leave it out", g.LargestIntervalPercent, method)
	case !strict && g.LargestIntervalPercent < leastInterval:
		return fmt.Errorf("no trials narrow the interval of a rate in noise to %g %% (the widest that is asked for), however many: allow %g %% or more", g.LargestIntervalPercent, leastInterval)
	}
	return nil
}

// step is a goal on the way to its final duration: shorter trials, wider bounds.
type step struct {
	result.SearchGoal
	last bool
}

// coarser is by how much each earlier step's bounds are wider, and its trials shorter.
const (
	coarserWidth = 3
	shorterTrial = 2
)

// ladder are the steps of a goal, the coarsest first. Short trials find where to
// look; only the last step's are the goal's own.
func ladder(g result.SearchGoal) []step {
	steps := []step{{g, true}}
	for seconds, w := g.FinalTrialSeconds, g.Width; seconds > g.InitialTrialSeconds*(1+1e-9); {
		seconds, w = max(seconds/shorterTrial, g.InitialTrialSeconds), min(w*coarserWidth, 0.5)
		coarse := g
		coarse.FinalTrialSeconds, coarse.DurationSumSeconds, coarse.Width = seconds, seconds, w
		steps = append([]step{{coarse, false}}, steps...)
	}
	return steps
}
