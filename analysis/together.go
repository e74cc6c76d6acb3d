package analysis

import (
	"fmt"
	"slices"

	"windtunnel/result"
)

// Together says what bounds mean, and how many ratios share one chance of a mistake; "" where none has bounds.
func (f Findings) Together() string {
	bounded := slices.ContainsFunc(f.Ratios, func(r Ratio) bool { return r.Estimate.Bounded() && r.Ratio.Metric != result.FoundRate })
	switch {
	case !bounded:
		return ""
	case f.Family < 2:
		return "[from, to] are the bounds of the true figure, right in 95 % of runs."
	}
	return fmt.Sprintf("[from, to] are the bounds of the true figure; those of all %d ratios, hypotheses' included, hold together in 95 %% of runs.", int(f.Family))
}
