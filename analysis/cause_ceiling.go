package analysis

import (
	"fmt"

	"windtunnel/result"
)

// ceilingFactor is its word.
const ceilingFactor = "ceiling"

// ceilingCause is a rate that the worse cell could not pass and that has nothing to do with what it is made of. Where
// both cells are at one, their ratio says nothing of them.
func ceilingCause(c contrast) []Cause {
	low, worseAt := c.ceiling(c.worse)
	high, betterAt := c.ceiling(c.better)
	worse, better := c.names()
	if low.Kind == result.CeilingGenerator { // generatorCause looks at what holds a generator up
		worseAt = false
	}
	switch {
	case worseAt && betterAt && low.Key() == high.Key():
		return []Cause{{Factor: ceilingFactor, Share: notKnown(), rank: rank{bound, 2},
			Says:     fmt.Sprintf("both %s and %s are at the same ceiling, %s: their rates compare it with itself, and what they cost tells them apart", worse, better, low.Says),
			Evidence: []string{worse + ": " + low.Seen, better + ": " + high.Seen}}}
	case worseAt && c.differ && c.rate && !(betterAt && high.BitsPerSecond <= low.BitsPerSecond):
		return []Cause{{Factor: ceilingFactor, Share: notKnown(), rank: rank{bound, 1.5},
			Says:     fmt.Sprintf("%s is at a ceiling, %s", worse, low.Says),
			Evidence: []string{low.Seen}}}
	}
	return nil
}

// ceiling is the rate that a cell could not pass. A full CPU is none: cpuCause looks at what fills it.
func (c contrast) ceiling(of Cell) (result.Ceiling, bool) {
	at, is := of.Spec.AtCeiling(c.run.Nodes, result.Counted(c.data.of[of.Spec.Name], of.Spec.Name))
	return at, is && at.IsRate()
}
