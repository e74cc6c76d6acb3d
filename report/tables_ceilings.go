package report

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// ceilings are those that several cells are at, and the cells by what they cost at a rate below it.
func ceilings(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {"received", "Mbit/s", false},
		{"CPU, ns per KiB", "sender", false}, {"CPU, ns per KiB", "receiver", false}, {"CPU, ns per KiB", "together", false},
		{name: "against the cheapest", text: true},
	}}
	s := section{heading: "Cells at one ceiling, by what they cost at an equal rate"}
	for _, g := range f.Ceilings {
		note := fmt.Sprintf("%s are at one ceiling, %s: %s.", strings.Join(g.Cells, ", "), g.Ceiling.Says, compares(g.Ceiling))
		switch {
		case len(g.Ranked) == 0:
			note += " What they cost at an equal rate is not known: " + g.Reason + "."
		case g.Share < 1:
			note += fmt.Sprintf(" The table has them at %s, %.0f %% of the slowest, measured after the blocks.", result.MegabitsWord(g.BitsPerSecond), 100*g.Share)
		}
		if left := unranked(g); len(left) > 0 && len(g.Ranked) > 0 {
			note += " Not in it, because they were not measured at that rate: " + strings.Join(left, ", ") + "."
		}
		if len(g.Ranked) > 2 {
			note += " What is said against the cheapest holds together in 95 % of runs."
		}
		s.notes = append(s.notes, note)
		for i, a := range g.Ranked {
			t.rows = append(t.rows, []string{a.Cell, megabits(a.Received), whole(a.Sender), whole(a.Receiver), whole(a.Together), against(a, i)})
		}
	}
	if len(t.rows) > 0 {
		s.table = t
	}
	if len(s.notes) == 0 {
		return section{}
	}
	return s
}

// compares is what the rates of cells at a ceiling tell.
func compares(l result.Ceiling) string {
	switch l.Kind {
	case result.CeilingCPU:
		return "their rates tell what a KiB costs it, not what their paths could carry"
	case result.CeilingThread:
		return "their rates tell what a KiB costs them, not what their paths could carry"
	}
	return "their rates compare it with itself"
}

// unranked are a ceiling's cells that have no place.
func unranked(g analysis.SharedCeiling) []string {
	return slices.DeleteFunc(slices.Clone(g.Cells), func(name string) bool {
		return slices.ContainsFunc(g.Ranked, func(a analysis.AtRate) bool { return a.Cell == name })
	})
}

func against(a analysis.AtRate, place int) string {
	switch {
	case place == 0 && a.Together.Known():
		return "the cheapest"
	case !a.Together.Known():
		return a.Together.Reason
	}
	return a.Verdict
}
