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
		if rate := c.found(); !rate.Known() || rate.Low == nil {
			return stats.Estimate{Reason: "cell " + c.Spec.Name + ": " + stats.OfRates(rate, rate).Reason + c.whose()}
		}
	}
	e := stats.OfRates(over.found(), under.found())
	if both := stats.OfRates(over.reached(), under.reached()); !e.Known() && both.Known() {
		e.Reason += fmt.Sprintf("; generators and paths together reached %s", stats.Verdict(both, Words(result.FoundRate)))
	}
	if !e.Known() && over.found().High == nil && under.found().High == nil {
		e.Reason += fmt.Sprintf("; what a packet takes of the CPUs compares the paths all the same: cost.packet.together: %s/%s", r.Over, r.Under)
	}
	return e
}

// whose is who the cell's search says set its first goal's rate, or that there is none.
func (c Cell) whose() string {
	if c.Search == nil || len(c.Search.Found) == 0 || c.Search.Found[0].Limit.Says == "" {
		return ""
	}
	limit := c.Search.Found[0].Limit
	if limit.Verdict == "" {
		return " (" + limit.Says + ")"
	}
	return fmt.Sprintf(" (%s: %s)", limit.Verdict, limit.Says)
}

// reached is what generator and path came to together, where that is all that the search of the first goal tells.
func (c Cell) reached() result.Figure {
	if c.Search == nil || len(c.Search.Found) == 0 || c.Search.Found[0].Reached == nil {
		return result.Missing("the generator did not set the rate")
	}
	return *c.Search.Found[0].Reached
}

// compareFound is a found rate against an earlier one. Where of both only the lower side is known, what the same generator reached with
// the path is compared: a path that takes more of its CPU leaves it less.
func compareFound(before, after Cell, family int) (e stats.Estimate, together bool) {
	f := stats.Family(family)
	a, b := before.reached(), after.reached()
	if together = a.Known() && b.Known(); together {
		return f.OfRates(b, a), true
	}
	return f.OfRates(after.found(), before.found()), false
}
