package main

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/vrouter/poll"
)

// stages are cycles by stage, of so many packets: those of the rounds that a core timed.
type stages struct {
	cycles [len(poll.Stages)]uint64
	timed  uint64
}

func (s stages) less(before stages) stages {
	s.timed -= before.timed
	for i := range s.cycles {
		s.cycles[i] -= before.cycles[i]
	}
	return s
}

// spent collects, by cell, the cycles of a packet and its stages', of each round.
type spent map[string][][]float64

func (s spent) add(cell string, got sample) {
	row := []float64{got.cycles}
	for _, cycles := range got.stages.cycles {
		if got.stages.timed == 0 {
			return // a device that does not tell
		}
		row = append(row, float64(cycles)/float64(got.stages.timed))
	}
	s[cell] = append(s[cell], row)
}

// text is a table of medians, in the order of the cells.
func (s spent) text(cells []cell) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Where poll mode's busy cycles go, a packet; medians. A round whose stages are timed is a little slower by it, and what the others have besides is between rounds.\n\n| | cycles | %s |\n|---|%s\n",
		strings.Join(poll.Stages[:], " | "), strings.Repeat("---|", 1+len(poll.Stages)))
	for _, c := range cells {
		if len(s[c.name]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s |", c.name)
		for i := range s[c.name][0] {
			fmt.Fprintf(&b, " %.0f |", median(s[c.name], i))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func median(rows [][]float64, column int) float64 {
	var all []float64
	for _, row := range rows {
		all = append(all, row[column])
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
