package analysis

import (
	"cmp"
	"slices"

	"windtunnel/result"
	"windtunnel/stats"
)

// Recovered is what the suspects of one ratio give back, each tried alone by cells of the same blocks.
type Recovered struct {
	Ratio    Ratio    // the gap
	Factors  []Factor // what gives most back comes first, then what cannot be told from nothing
	Untested []result.Untested
}

// Factor is a suspect that was tried.
type Factor struct {
	Name  string
	Says  string        // what was changed
	Cells []string      // by which it was tried
	Both  bool          // both cells of the ratio were changed alike; else the first has it as the second
	Share result.Figure // of the gap: 0.71; bounded, or with a reason
	Hides string        // why the gap may be hidden by the change and not closed, "" if nothing says so
	// Shows is the verdict on the two cells with the change, where they differ only then: what was taken away had made them
	// alike. "" where they do not, or where there is a gap without it.
	Shows string
}

// recovered is nil where no suspects were asked for.
func (f Findings) recovered(d data) *Recovered {
	why := d.Run.Why
	if why == nil {
		return nil
	}
	found := &Recovered{Ratio: f.ratioOf(d, why.Ratio), Untested: slices.Clone(why.Untested)}
	var names []string
	for _, c := range f.Cells {
		if i := c.Spec.Intervention; i != nil && i.Ratio == why.Ratio && !slices.Contains(names, i.Factor) {
			names = append(names, i.Factor)
		}
	}
	for _, name := range names {
		family := stats.Family(len(names) + 1)
		factor, reason := f.factor(d, why.Ratio, name, family)
		if reason != "" {
			found.Untested = append(found.Untested, result.Untested{Factor: name, Reason: reason})
			continue
		}
		if e := found.Ratio.Estimate; e.Bounded() && !e.Differs() { // as one of all ratios of the report
			factor.Share = result.Missing("the gap itself is not distinguishable from none")
			factor.Shows = f.shows(d, found.Ratio, name, family)
		}
		found.Factors = append(found.Factors, factor)
	}
	slices.SortStableFunc(found.Factors, func(a, b Factor) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Share.Mean, a.Share.Mean))
	})
	return found
}

// Distinct tells whether the factor gives something back, or takes it, for sure.
func (f Factor) Distinct() bool {
	s := f.Share
	return s.Known() && s.Low != nil && s.High != nil && (*s.Low > 0 || *s.High < 0)
}

// rank puts what gives something back before what is not known to do anything, and that before what widens the gap. In what
// the cells differ comes before what was changed in both, which may hide a gap instead of closing it.
func (f Factor) rank() int {
	switch {
	case f.Shows != "":
		return 0
	case !f.Share.Known():
		return 5
	case f.Distinct() && f.Share.Mean < 0:
		return 4
	case !f.Distinct() && f.Both:
		return 3
	case !f.Distinct():
		return 2
	case f.Both:
		return 1
	}
	return 0
}

// factor is what one suspect gives back, of a family of so many claims; or why it was not measured.
func (f Findings) factor(d data, gap result.Ratio, name string, family stats.Family) (found Factor, reason string) {
	found.Name = name
	tried := map[string][]stats.Block{}
	for _, c := range f.Cells {
		i := c.Spec.Intervention
		if i == nil || i.Ratio != gap || i.Factor != name || i.Of != gap.Over && i.Of != gap.Under {
			continue
		}
		if c.Status != Measured {
			return found, "cell " + c.Spec.Name + ": " + c.Reason
		}
		blocks, _ := d.blocks(gap.Metric, c.Spec.Name, i.Of)
		tried[i.Of] = append([]stats.Block{}, blocks...) // not nil: it was tried, with however many blocks
		found.Says, found.Cells = i.Says, append(found.Cells, c.Spec.Name)
		found.Both = i.Both
	}
	if len(found.Cells) == 0 {
		return found, "the run has no cell of the ratio that it was tried with"
	}
	of, why := d.blocks(gap.Metric, gap.Over, gap.Under)
	if len(of) == 0 && why != "" {
		return found, why
	}
	found.Share = stats.Recovered(of, tried[gap.Over], tried[gap.Under], family)
	found.Hides = hides(gap, stats.Ratio(of), stats.Ratio(tried[gap.Under]))
	return found, ""
}

// hides tells of a change that takes the second cell towards the first: what then limits it may limit both, whatever is
// between them. It is a caution and claims nothing that the report decides by, so its intervals are those of ratios alone:
// within the family's, which are wider, it would be silent more often, and that is the worse mistake here.
func hides(gap result.Ratio, between, alone stats.Estimate) string {
	if !between.Differs() || !alone.Differs() || (between.Estimate < 1) != (alone.Estimate < 1) {
		return ""
	}
	return gap.Under + " itself is then " + stats.Verdict(alone, Words(gap.Metric)) + ", and what limits it there may hide the gap"
}

// shows is the verdict on the ratio's cells with a factor changed, "" where they do not differ then either, or no more than
// without it they may. It is one of a family of so many claims.
func (f Findings) shows(d data, without Ratio, name string, family stats.Family) string {
	gap := without.Ratio
	over, under := gap.Over, gap.Under
	for _, c := range f.Cells {
		if i := c.Spec.Intervention; i != nil && i.Ratio == gap && i.Factor == name {
			switch i.Of {
			case gap.Over:
				over = c.Spec.Name
			case gap.Under:
				under = c.Spec.Name
			}
		}
	}
	blocks, _ := d.blocks(gap.Metric, over, under)
	e := family.Ratio(blocks)
	if !e.Differs() || *e.Low <= *without.Estimate.High && *e.High >= *without.Estimate.Low {
		return ""
	}
	return stats.Verdict(e, Words(gap.Metric))
}

// blocks pair the trials of two cells.
func (d data) blocks(m result.Metric, over, under string) ([]stats.Block, string) {
	if m == "" {
		m = result.ReceivedRate
	}
	r := result.Ratio{Metric: m, Over: over, Under: under}
	return stats.Blocks(d.Cells, d.both(r), r)
}
