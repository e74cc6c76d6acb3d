// Package bench compares Windtunnel with its peers: pairs of trials in turn on
// the same testbed, a ratio a comparison with its interval, and a row of
// RESULTS.md. Each folder beside this file is one command.
package bench

import (
	"fmt"

	"windtunnel/stats"
)

// The verdicts of a comparison.
const (
	Holds  = "holds"  // the interval reaches the goal
	Level  = "level"  // the goal lies inside of the interval
	Missed = "missed" // the interval stays short of the goal
	NoGoal = "-"      // there is none: the ratio is to be known
	None   = "not measured"
)

// Goal is what a ratio of ours over the peer's should reach. A goal of 1 asks for
// parity, which no interval can lie wholly above when it is just reached: it holds
// when the interval reaches 1 and the median misses it by 3 % at most.
// The zero value is no goal.
type Goal struct {
	Ratio  float64
	AtMost bool // the ratio is a cost: at most Ratio; else at least
}

// parityMedian is how far the median may miss a goal of 1.
const parityMedian = 0.03

func (g Goal) String() string {
	if g == (Goal{}) {
		return NoGoal
	}
	if g.AtMost {
		return fmt.Sprintf("<= %.2f", g.Ratio)
	}
	return fmt.Sprintf(">= %.2f", g.Ratio)
}

// Comparison is one figure of ours against a peer's, pair by pair.
type Comparison struct {
	What string
	Goal Goal
	Ours []float64
	Peer []float64
	Why  string // it was not measured here, if it was not
	// Limit is what keeps the ratio from its goal, and where that was found out. It is said of a ratio
	// that falls short.
	Limit string
}

// Add takes one pair.
func (c *Comparison) Add(ours, peer float64) {
	c.Ours, c.Peer = append(c.Ours, ours), append(c.Peer, peer)
}

// Estimate is the ratio over all pairs: the median, since a shared machine disturbs single trials by
// any factor.
func (c *Comparison) Estimate() stats.Estimate { return stats.MedianRatio(c.Ours, c.Peer) }

// Verdict judges the ratio; a ratio without bounds is level.
func (c *Comparison) Verdict() string {
	if c.Why != "" {
		return None
	}
	if c.Goal == (Goal{}) {
		return NoGoal
	}
	e := c.Estimate()
	if !e.Bounded() {
		return Level
	}
	reached, short := c.Goal.judge(*e.Low, *e.High, e.Estimate)
	switch {
	case reached:
		return Holds
	case short:
		return Missed
	}
	return Level
}

// judge is about a rate; a cost is judged as a rate is, upside down.
func (g Goal) judge(low, high, median float64) (reached, short bool) {
	goal := g.Ratio
	if g.AtMost {
		goal, low, high, median = 1/goal, 1/high, 1/low, 1/median
	}
	if goal == 1 {
		return high >= 1 && median >= 1-parityMedian, high < 1
	}
	return low >= goal, high < goal
}

// ratios are those of the pairs.
func (c *Comparison) ratios() (ratios []float64) {
	for i := range c.Ours {
		ratios = append(ratios, c.Ours[i]/c.Peer[i])
	}
	return ratios
}

// Decided reports whether more pairs would change no verdict. The interval
// stays valid under stopping by it (see package stats).
func Decided(comparisons []*Comparison) bool {
	for _, c := range comparisons {
		if c.Verdict() == Level {
			return false
		}
	}
	return true
}

// short says that the goal is missed, or that the ratio itself does not reach it though its interval may.
func (c *Comparison) short() bool {
	verdict, e := c.Verdict(), c.Estimate()
	return verdict == Missed || verdict == Level && e.Known() && c.Goal.worse(e.Estimate, c.Goal.Ratio)
}

// Row is the comparison's line of a Markdown table.
func (c *Comparison) Row() string {
	e := c.Estimate()
	ratio := "none: " + e.Reason
	switch {
	case c.Why != "":
		ratio = None + ": " + c.Why
	case e.Bounded():
		ratio = fmt.Sprintf("%.3f [%.3f, %.3f]", e.Estimate, *e.Low, *e.High)
	case e.Known():
		ratio = fmt.Sprintf("%.3f (too few pairs for bounds)", e.Estimate)
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %s |", c.What, ratio, e.N, c.Goal, c.Verdict())
}
