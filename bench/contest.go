package bench

import (
	"math"
	"slices"
)

// Contest is one figure of ours against several peers in rounds. Its goal is against the
// best of them: the peer over which our figure is the worst, by the ratio of all rounds.
// The best of each single round would be another thing, and no tool that exists: the
// highest of many noisy values.
type Contest struct {
	what    string
	goal    Goal
	alone   map[string]float64 // goals over one peer's, by its name
	peers   []string
	against []*Comparison // of each peer
	rounds  int
}

// NewContest is one without a round. The goals in alone are at least so much over one
// peer's, beside the goal over the best one's; names that are no peer's are left out.
func NewContest(what string, goal Goal, peers []string, alone map[string]float64) *Contest {
	c := &Contest{what: what, goal: goal, alone: alone, peers: peers}
	for range peers {
		c.against = append(c.against, &Comparison{Goal: goal})
	}
	return c
}

// Add takes one round: our figure, and each peer's; 0 and +Inf are of one that got nothing across.
func (c *Contest) Add(ours float64, peers []float64) {
	c.rounds++
	for i, peer := range peers {
		if peer > 0 && !math.IsInf(peer, 0) {
			c.against[i].Add(ours, peer)
		}
	}
}

// Rows are the comparison with the best peer, then those with a goal of their own, then the peers that
// gave no figure: the best of the others need not be the best there is. Before any peer had a figure there are none.
func (c *Contest) Rows() (rows []*Comparison) {
	best := c.best()
	if best < 0 {
		return nil
	}
	rows = append(rows, c.row(best, c.goal, "over the best, "))
	for i, name := range c.peers {
		if goal, asked := c.alone[name]; asked {
			rows = append(rows, c.row(i, Goal{Ratio: goal}, "over "))
		}
	}
	for i, of := range c.against {
		if _, asked := c.alone[c.peers[i]]; len(of.Ours) == 0 && !asked {
			rows = append(rows, c.row(i, Goal{}, "over "))
		}
	}
	return rows
}

func (c *Contest) row(peer int, goal Goal, over string) *Comparison {
	of := c.against[peer]
	row := &Comparison{What: c.what + ", " + over + c.peers[peer], Goal: goal, Ours: of.Ours, Peer: of.Peer}
	if len(of.Ours) == 0 {
		row.Why = "it failed in each trial"
	}
	return row
}

// best is the peer to which we compare worst, -1 when none has a figure.
func (c *Contest) best() int {
	best := -1
	for i, of := range c.against {
		if len(of.Ours) == 0 {
			continue
		}
		if best < 0 || c.goal.worse(of.Estimate().Estimate, c.against[best].Estimate().Estimate) {
			best = i
		}
	}
	return best
}

// worse says whether a ratio is further from such a goal than another.
func (g Goal) worse(ratio, than float64) bool {
	if g.AtMost {
		return ratio > than
	}
	return ratio < than
}

// A peer that was further behind the best than hopeless in each of so many rounds need
// not run again.
const (
	hopeless       = 0.7
	hopelessRounds = 3
)

// Hopeless says that a peer cannot be the best any more, and that no goal is about it.
func (c *Contest) Hopeless(peer int) bool {
	if _, asked := c.alone[c.peers[peer]]; asked || c.rounds < hopelessRounds {
		return false
	}
	best := c.best()
	if best < 0 || best == peer {
		return false
	}
	its, bests := c.against[peer].ratios(), c.against[best].ratios()
	if len(its) == 0 {
		return true
	}
	if c.goal.AtMost {
		return slices.Max(its) < hopeless*slices.Min(bests)
	}
	return hopeless*slices.Min(its) > slices.Max(bests)
}
