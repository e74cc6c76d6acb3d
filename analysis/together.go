package analysis

import (
	"fmt"
	"slices"

	"windtunnel/result"
)

// Together says how many ratios share one chance of a mistake, "" where none has bounds or each stands alone.
func (f Findings) Together() string {
	bounded := slices.ContainsFunc(f.Ratios, func(r Ratio) bool { return r.Estimate.Bounded() && r.Ratio.Metric != result.FoundRate })
	if f.Family < 2 || !bounded {
		return ""
	}
	return fmt.Sprintf("The bounds of %d ratios, hypotheses' included, hold together in 95 %% of runs.", int(f.Family))
}
