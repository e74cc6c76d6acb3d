package main

import (
	"fmt"
	"slices"

	"windtunnel/bench"
	"windtunnel/bench/wire"
)

// rounds are one setup's, told apart by how the CPUs lay: where a hypervisor has moved them apart, a round is one of another machine, and
// has a table of its own.
type rounds struct {
	least, most int
	near, away  *table
	moved       int // were of two machines, and count in neither
	fresh       func() *table
}

func newRounds(s settings, fresh func() *table) *rounds {
	return &rounds{least: s.rounds, most: s.most, near: fresh(), away: fresh(), fresh: fresh}
}

// goOn tells whether there are to be more. They end without a verdict for near CPUs only where these were apart in as many as may be.
func (r *rounds) goOn() bool {
	n := r.near.rounds
	return r.away.rounds < max(r.least, r.most) && (n < r.least || n < r.most && !bench.Decided(r.near.rows()))
}

// made is how many there were.
func (r *rounds) made() int { return r.near.rounds + r.away.rounds + r.moved }

// add takes a round. As many of two machines are left out as rounds may be: a machine that moves its CPUs all the while has no others.
func (r *rounds) add(lie wire.Lie, nearer bool, in []int, samples []wire.Sample) {
	if nearer && r.near.rounds > 0 { // what was near was apart, and what was apart of a third machine
		r.moved += r.away.rounds
		r.near, r.away = r.fresh(), r.near
	}
	switch {
	case lie == wire.Away:
		r.away.add(in, samples)
	case lie == wire.Moved && r.moved < r.most:
		r.moved++
	default:
		r.near.add(in, samples)
	}
}

// counts is the table whose verdicts are the setup's, other the one that stands beside it, nil where that has no round.
func (r *rounds) counts() (counts, other *table) {
	counts, other = r.near, r.away
	if counts.rounds < min(r.least, other.rounds) {
		counts, other = other, counts
	}
	if other.rounds == 0 {
		return counts, nil
	}
	return counts, other
}

const linesHead = "What a line of cache took from one CPU to the other at the trials of each setup, in ns; of those behind \"other\", the rounds were of a machine whose CPUs lie otherwise, and of those left out they were moved amid the round:\n\n" +
	"| setup | rounds | median | least | most | other rounds | median | left out |\n|---|---|---|---|---|---|---|---|\n"

// lines is a row of how far the CPUs were from each other in a setup's trials.
func (r *rounds) lines(setup string) string {
	counts, other := r.counts()
	median, least, most := counts.lines()
	beside := "0 | -"
	if other != nil {
		middle, _, _ := other.lines()
		beside = fmt.Sprintf("%d | %d", other.rounds, middle)
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %s | %d |\n", setup, counts.rounds, median, least, most, beside, r.moved)
}

// measured are the rows with figures: a peer that is too far behind on the one machine runs on none.
func (t *table) measured() []*bench.Comparison {
	return slices.DeleteFunc(t.rows(), func(c *bench.Comparison) bool { return c.Why != "" })
}

// lines are the median, the least and the most of what a line took at a table's trials, in ns; of an even number the middle is the lower one.
func (t *table) lines() (median, least, most int64) {
	sorted := slices.Sorted(slices.Values(t.far))
	return sorted[(len(sorted)-1)/2].Nanoseconds(), sorted[0].Nanoseconds(), sorted[len(sorted)-1].Nanoseconds()
}
