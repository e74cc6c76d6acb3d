package analysis

import (
	"cmp"
	"fmt"

	"windtunnel/result"
	"windtunnel/stats"
)

// found is the rate that the cell's search found for its first goal.
func (c Cell) found() result.Figure {
	switch {
	case c.Search == nil && c.Spec.Find != nil:
		return result.Missing(cmp.Or(c.Reason, "its search did not begin"))
	case c.Search == nil:
		return result.Missing("the cell has no `find`")
	case len(c.Search.Found) == 0:
		return result.Missing(notFound(*c.Search))
	}
	return c.Search.Found[0].Rate
}

// foundRatio is the ratio of two cells' found rates. It is no ratio of trials: cells that were left out of the
// blocks, because no load met their goal, say so by their search.
func (f Findings) foundRatio(r result.Ratio) stats.Estimate {
	over, _ := f.Cell(r.Over)
	under, _ := f.Cell(r.Under)
	if a, b := over.Search, under.Search; a != nil && b != nil {
		switch {
		case a.Unit != b.Unit:
			return stats.Estimate{Reason: fmt.Sprintf("cell %s was searched in %s, cell %s in %s", r.Over, a.Unit, r.Under, b.Unit)}
		case len(a.Goals) > 0 && len(b.Goals) > 0 && a.Goals[0].LossRatio != b.Goals[0].LossRatio:
			return stats.Estimate{Reason: fmt.Sprintf("the first goal of cell %s is %s, that of cell %s %s", r.Over, a.Goals[0].Name(), r.Under, b.Goals[0].Name())}
		}
	}
	for _, c := range []Cell{over, under} {
		if rate := c.found(); !rate.Known() || rate.High == nil {
			e := stats.OfRates(rate, rate)
			e.Reason = "cell " + c.Spec.Name + ": " + e.Reason
			return e
		}
	}
	return stats.OfRates(over.found(), under.found())
}
