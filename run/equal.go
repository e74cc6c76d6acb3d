package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"windtunnel/result"
	"windtunnel/search"
	"windtunnel/stats"
)

// Cells that share a ceiling are measured once more after the blocks, at equalShare of what the slowest of them received,
// in the least number of blocks that gives bounds, if that takes no more than a quarter of the budget.
const (
	equalShare  = 0.8
	equalWindow = 500 * time.Millisecond
	equalMostOf = 4
	equalBlocks = stats.MinimumBlocks
)

// after is what of the budget is kept for what comes after the blocks.
type after struct{ halves, equal time.Duration }

func (p Plan) after(budget time.Duration) after {
	return after{p.halvesTime(budget), p.equalTime(budget)}
}

// equalTime is what trials at equal rates take in all, as far as a plan can tell which cells will share a ceiling: those
// whose wires have token buckets of one rate. 0 where there are none, or the budget is too short.
func (p Plan) equalTime(budget time.Duration) time.Duration {
	wires := map[float64]int{}
	for _, cell := range p.Runnable() {
		if w := cell.Record.Wired; w != nil && w.BitsPerSecond > 0 && p.paceable(cell) {
			wires[w.BitsPerSecond]++
		}
	}
	cells := 0
	for _, n := range wires {
		if n > 1 {
			cells += n
		}
	}
	if sum := time.Duration(cells*equalBlocks) * p.equalTrial(); sum <= budget/equalMostOf {
		return sum
	}
	return 0
}

// equalTrial is what one of them takes.
func (p Plan) equalTrial() time.Duration {
	rebuild := time.Duration(0)
	if p.OneAtATime {
		rebuild = rebuildTime
	}
	return searchWarmUp + equalWindow + trialOverhead + startDelay + rebuild
}

// paceable tells whether a cell's load goes as fast as it can and may be told a rate of bits.
func (p Plan) paceable(cell PlannedCell) bool {
	return search.Rated(cell.Record.Load) == "" && cell.Record.Find == nil &&
		slices.ContainsFunc(p.Loads[cell.Record.Traffic], func(o result.Option) bool { return o.Name == "rate" && o.Type == result.BitRate })
}

// sharing are cells at one ceiling.
type sharing struct {
	ceilings []result.Ceiling // as each cell is at it
	cells    []PlannedCell
	slowest  float64 // bits a second received
}

// equal measures cells that share a ceiling at a rate below it, in blocks of their own. What cannot be measured says why,
// and ends nothing.
func (c *Conductor) equal(ctx context.Context, cells []PlannedCell) error {
	c.reserved.equal = 0
	groups := c.sharing(cells)
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		if len(g.cells) < 2 || ctx.Err() != nil {
			continue
		}
		c.Progress.Say(fmt.Sprintf("  %d cells are at one ceiling, %s: what do they cost at %.0f %% of the slowest?", len(g.cells), g.ceilings[0].Says, 100*equalShare))
		if err := c.equalGroup(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// sharing groups the cells by the ceiling that their trials reached.
func (c *Conductor) sharing(cells []PlannedCell) map[string]*sharing {
	groups, nodes := map[string]*sharing{}, c.runNodes()
	for _, cell := range cells {
		r := cell.Record
		received := c.series.mean(r.Name, result.ReceivedRate)
		ceiling, at := r.AtCeiling(nodes, result.Counted(c.series.trials, r.Name))
		if !at || !c.Plan.paceable(cell) || c.broken[r.Name] || received == 0 {
			continue
		}
		g := groups[ceiling.Key()]
		if g == nil {
			g = &sharing{slowest: received}
			groups[ceiling.Key()] = g
		}
		g.ceilings, g.cells, g.slowest = append(g.ceilings, ceiling), append(g.cells, cell), min(g.slowest, received)
	}
	return groups
}

func (c *Conductor) equalGroup(ctx context.Context, g *sharing) error {
	rate := equalShare * g.slowest
	if why := c.tooLong(g); why != "" {
		for i, cell := range g.cells {
			e := result.EqualRate{Cell: cell.Record.Name, Ceiling: g.ceilings[i], Reason: why}
			if err := c.Out.EqualRate(e); err != nil {
				return err
			}
		}
		return nil
	}
	places := make([]int, len(g.cells))
	for i := range places {
		places[i] = i
	}
	failed := map[int]bool{} // its trials did not count, which takes longer than was kept for it
	for block := 1; block <= equalBlocks; block++ {
		if block%2 == 0 {
			slices.Reverse(places)
		} else {
			c.random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		}
		for order, i := range places {
			if failed[i] {
				continue
			}
			counts, err := c.equalOne(ctx, g, i, rate, block, order+1)
			if err != nil || ctx.Err() != nil {
				return err
			}
			failed[i] = !counts
		}
	}
	return nil
}

// tooLong says why there is no time for a group, "" where there is. For rates it was kept; which cells fill a CPU no plan can tell, and
// their rates are worth more blocks first, so they get what those leave, within the same share of the budget.
func (c *Conductor) tooLong(g *sharing) string {
	needed := time.Duration(len(g.cells)*equalBlocks) * c.Plan.equalTrial()
	budget := time.Duration(c.Plan.Times.BudgetSeconds * float64(time.Second))
	switch {
	case c.left()+c.grace(0) < needed:
		return fmt.Sprintf("the budget ended before it was measured: it takes %s more", needed.Round(time.Second))
	case !g.ceilings[0].IsRate() && needed > budget/equalMostOf:
		return fmt.Sprintf("it takes %s, more than a quarter of the budget", needed.Round(time.Second))
	}
	return ""
}

// equalOne reports whether the trial counts.
func (c *Conductor) equalOne(ctx context.Context, g *sharing, i int, rate float64, block, order int) (counts bool, err error) {
	cell := g.cells[i]
	e := result.EqualRate{Cell: cell.Record.Name, Ceiling: g.ceilings[i], BitsPerSecond: rate, Share: equalShare}
	cell.Record.Load = pacedTo(cell.Record, rate)
	if c.left()+c.grace(0) <= 0 {
		e.Reason = "the budget ended before it was measured"
		return false, c.Out.EqualRate(e)
	}
	t, err := c.alone(ctx, cell, equalWindow.Seconds(), maxAttempts)
	if ctx.Err() != nil {
		return false, nil
	}
	if err != nil {
		e.Reason = err.Error()
	} else {
		t.Block, t.Order = block, order
		e.Trial = &t
	}
	return err == nil, c.Out.EqualRate(e)
}

// pacedTo is a cell's load at so many bits a second in all: a rate is that of each pair, and of streams that of each of
// them, in each direction.
func pacedTo(cell result.Cell, bitsPerSecond float64) result.Options {
	flows := len(cell.Pairs)
	if cell.Traffic == streams {
		flows *= max(1, int(cell.Load.Int("streams")))
	}
	if cell.Load.Text("direction") == "both" {
		flows *= 2
	}
	return search.Paced(cell.Load, result.BitsPerSecond, bitsPerSecond, flows)
}
