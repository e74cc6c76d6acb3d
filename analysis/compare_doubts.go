package analysis

import (
	"fmt"
	"slices"

	"windtunnel/result"
)

// fewestShifted is how many cells have to differ in one direction before the machine is suspected.
const fewestShifted = 3

// doubts are the reasons to trust the comparison less: what it lacks of what was asked for, what either run doubts of
// itself, and what the cells have in common.
func (c Compared) doubts(before, after Findings, asked []result.Metric) []result.Doubt {
	var all []result.Doubt
	add := func(cell, kind, format string, values ...any) {
		all = append(all, result.Doubt{Cell: cell, Kind: kind, Says: fmt.Sprintf(format, values...)})
	}
	for _, cell := range c.Left() {
		add(cell.Name, "not-compared", "%s", cell.Reason)
	}
	if n := c.Count(GateUndecided); n > 0 {
		add("", "undecided", "of %d of the figures the interval lies on both sides of the gate: more trials (--budget) narrow it", n)
	}
	if n := c.Count(GateUnjudged); n > 0 {
		add("", "unjudged", "%d of the figures have no interval, and passed no gate", n)
	}
	if says := c.shifted(); says != "" {
		add("", "common-shift", "%s", says)
	}
	if before.Run.ID == after.Run.ID && before.Run.StartedAt == after.Run.StartedAt && before.Run.Seed == after.Run.Seed {
		add("", "same-run", "the two runs are one: they have the same name, time and seed")
	}
	if c.Forbidden != "" {
		return all // what the runs doubt of themselves matters to nobody
	}
	for _, m := range asked {
		if !c.has(m) {
			add("", "no-figure", "%s: no cell that was compared has it in either run", m.Word())
		}
	}
	return append(all, bothDoubts(before, after)...)
}

func (c Compared) has(m result.Metric) bool {
	return slices.ContainsFunc(c.Cells, func(cell ComparedCell) bool {
		return slices.ContainsFunc(cell.Figures, func(f ComparedFigure) bool { return f.Metric == m })
	})
}

// bothDoubts are those of the runs themselves, each once where both have it.
func bothDoubts(before, after Findings) []result.Doubt {
	inBefore, inAfter := map[result.Doubt]bool{}, map[result.Doubt]bool{}
	for _, d := range before.Doubts {
		inBefore[d] = true
	}
	for _, d := range after.Doubts {
		inAfter[d] = true
	}
	var all []result.Doubt
	for _, d := range before.Doubts {
		where := "the first run"
		if inAfter[d] {
			where = "both runs"
		}
		all = append(all, result.Doubt{Cell: d.Cell, Kind: d.Kind, Says: where + ": " + d.Says})
	}
	for _, d := range after.Doubts {
		if !inBefore[d] {
			all = append(all, result.Doubt{Cell: d.Cell, Kind: d.Kind, Says: "the second run: " + d.Says})
		}
	}
	return all
}

// shifted says that every cell's rate differs in one direction while no ratio between cells does: what changed is then
// common to all, the machine rather than a path.
func (c Compared) shifted() string {
	up, down := 0, 0
	for _, cell := range c.Cells {
		if cell.Reason != "" || len(cell.Figures) == 0 {
			continue
		}
		switch e := cell.Figures[0].Ratio; {
		case !e.Differs():
			return ""
		case e.Estimate > 1:
			up++
		default:
			down++
		}
	}
	if up+down < fewestShifted || up > 0 && down > 0 {
		return ""
	}
	for _, r := range c.Ratios {
		if r.Change.Differs() {
			return ""
		}
	}
	word := map[bool]string{true: "up", false: "down"}[up > 0]
	return fmt.Sprintf("the figures of all %d cells went %s together and no ratio between them changed: suspect what they have in common, the machine, before a path", up+down, word)
}
