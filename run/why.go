package run

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/scenario"
)

// Why asks for the suspects of a ratio to be tried: each factor that could be the cause is changed alone, by further
// cells of the same blocks.
type Why struct {
	Ratio   string   // "B/A", or with its metric: "cpu.b: B/A"
	Factors []string // only these; empty: all
}

// attempt is one factor and what becomes of the ratio's two cells, nil where one stays as it is; or why it cannot
// be tried.
type attempt struct {
	factor, says string
	over, under  *scenario.Cell
	both         bool // the same is changed in both
	untested     string
}

// contrast is the two cells of a ratio, and what their factors are made of.
type contrast struct {
	over, under scenario.Cell
	words       scenario.Vocabulary
	cpus        int // of the node of theirs that has fewest
}

// explained adds to a suite the cells that try the ratio's suspects, and to its ratios the one that is asked for. What
// cannot be laid out or measured here, or would change nothing, is named with the reason.
func explained(suite scenario.Spec, host Host, settings Settings) (scenario.Spec, error) {
	ask := *settings.Why
	ratio, err := suite.Ratio(ask.Ratio)
	if err != nil {
		return suite, fmt.Errorf("the ratio %s: %w", result.Clip(ask.Ratio), err)
	}
	if ratio.Metric == result.FoundRate {
		return suite, errors.New("rates that searches found are not measured in blocks, so that nothing can be tried beside them: ask for another metric, `B/A`")
	}
	settings.Why, settings.Cells = nil, nil
	base, err := MakePlan(suite, host, settings)
	if err != nil {
		return suite, err
	}
	tries, err := chosen(base.contrast(ratio).attempts(), ask.Factors)
	if err != nil {
		return suite, err
	}
	if !slices.Contains(suite.Ratios, ratio) {
		suite.Ratios = append(slices.Clip(suite.Ratios), ratio)
	}
	suite.Why = &result.Why{Ratio: ratio}
	suite.Cells = slices.Clip(suite.Cells)
	for _, a := range tries {
		if a.untested == "" {
			a.untested = base.try(&a, host, settings)
		}
		if a.untested != "" {
			suite.Why.Untested = append(suite.Why.Untested, result.Untested{Factor: a.factor, Reason: a.untested})
			continue
		}
		for _, cell := range []*scenario.Cell{a.over, a.under} {
			if cell != nil {
				suite.Cells = append(suite.Cells, a.cell(*cell, ratio))
			}
		}
	}
	return suite, nil
}

// cell is a changed cell under a name of its own, which no suite's cell can have.
func (a attempt) cell(of scenario.Cell, ratio result.Ratio) scenario.Cell {
	of.Intervention = &result.Intervention{Ratio: ratio, Of: of.Name, Factor: a.factor, Both: a.both, Says: a.says}
	of.Name, of.Says, of.Published = of.Name+"+"+a.factor, of.Name+": "+a.says, nil
	return of
}

// contrast puts the ratio's cells together.
func (p Plan) contrast(ratio result.Ratio) contrast {
	c := contrast{words: Vocabulary()}
	c.over, _ = p.Suite.Cell(ratio.Over)
	c.under, _ = p.Suite.Cell(ratio.Under)
	for i, n := range p.nodesOf(slices.Concat(c.over.Pairs, c.under.Pairs)) {
		if i == 0 || len(n.CPUs) < c.cpus {
			c.cpus = len(n.CPUs)
		}
	}
	return c
}

// attempts are those of all factors, in the registry's order.
func (c contrast) attempts() []attempt {
	var all []attempt
	for _, f := range factors {
		all = append(all, f(c)...)
	}
	return all
}

// chosen keeps the factors that were asked for.
func chosen(all []attempt, only []string) ([]attempt, error) {
	var names []string
	for _, a := range all {
		names = append(names, a.factor)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, errors.New(result.UnknownWord("factor", name, names))
		}
	}
	return slices.DeleteFunc(all, func(a attempt) bool { return len(only) > 0 && !slices.Contains(only, a.factor) }), nil
}

// try lays the changed cells out and says why they cannot be measured. A cell that is laid out as before is dropped:
// of the two of a factor, the other one may still have something to change.
func (p Plan) try(a *attempt, host Host, settings Settings) string {
	for _, cell := range []**scenario.Cell{&a.over, &a.under} {
		if *cell == nil {
			continue
		}
		before := p.Cells[slices.IndexFunc(p.Cells, func(c PlannedCell) bool { return c.Record.Name == (*cell).Name })]
		if (*cell).Path == datapath.Existing && reflect.DeepEqual((*cell).Load, before.Record.Load) {
			return runsAlready
		}
		laid, err := p.planCell(**cell, host, settings, "")
		if err != nil {
			return (*cell).Name + ": " + strings.TrimPrefix(err.Error(), fmt.Sprintf("path %s of cell %s: ", (*cell).Path, (*cell).Name))
		}
		if laid.Record.Skipped != before.Record.Skipped {
			return (*cell).Name + ": " + laid.Record.Skipped
		}
		if laid.same(before) {
			*cell = nil
		}
	}
	if a.over == nil && a.under == nil {
		return "it would change nothing in either cell"
	}
	return ""
}

// same tells whether two plans of one cell come to the same traffic on the same testbed.
func (c PlannedCell) same(other PlannedCell) bool {
	return c.Record.Traffic == other.Record.Traffic && reflect.DeepEqual(c.Record.Load, other.Record.Load) &&
		c.Record.Beside == other.Record.Beside && reflect.DeepEqual(c.Record.BesideLoad, other.Record.BesideLoad) &&
		reflect.DeepEqual(c.Laid, other.Laid)
}

// changed is a copy of a cell that shares nothing with it that a factor changes.
func changed(cell scenario.Cell, change func(*scenario.Cell)) *scenario.Cell {
	cell.Load, cell.BesideLoad, cell.PathOptions = maps.Clone(cell.Load), maps.Clone(cell.BesideLoad), maps.Clone(cell.PathOptions)
	change(&cell)
	return &cell
}

// asUnder tries the first cell with a factor as the second one has it.
func (c contrast) asUnder(factor, says string, change func(*scenario.Cell)) attempt {
	return attempt{factor: factor, says: says, over: changed(c.over, change)}
}

// inBoth tries both cells with a factor changed alike.
func (c contrast) inBoth(factor, says string, change func(*scenario.Cell)) attempt {
	return attempt{factor: factor, says: says + " in both", both: true, over: changed(c.over, change), under: changed(c.under, change)}
}

func untested(factor, format string, values ...any) attempt {
	return attempt{factor: factor, untested: fmt.Sprintf(format, values...)}
}

// whyRatios are those that tell what a factor gives back: the ratio between its cells, each known as well as any.
func (p Plan) whyRatios() []result.Ratio {
	var all []result.Ratio
	for _, cell := range p.Runnable() {
		i := cell.Record.Intervention
		if i == nil {
			continue
		}
		r := i.Ratio
		for _, other := range p.Runnable() {
			if j := other.Record.Intervention; j != nil && j.Factor == i.Factor && j.Ratio == i.Ratio {
				switch j.Of {
				case r.Over:
					r.Over = other.Record.Name
				case r.Under:
					r.Under = other.Record.Name
				}
			}
		}
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// suspected tells whether a cell is of the ratio whose suspects are tried: a share is of the blocks that have all of its
// cells, so that none of them is left out of any.
func (p Plan) suspected(cell PlannedCell) bool {
	why, name := p.Suite.Why, cell.Record.Name
	return why != nil && (cell.Record.Intervention != nil || name == why.Ratio.Over || name == why.Ratio.Under)
}
