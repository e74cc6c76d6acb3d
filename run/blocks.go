package run

import (
	"context"
	"errors"
	"slices"

	"windtunnel/result"
)

// maxAttempts is how often a cell is tried in one block until a trial counts.
const maxAttempts = 3

// measure runs blocks until every ratio is known or the budget ends. Once there are enough for bounds,
// blocks leave out cells that nothing hangs on any more. It returns why it stopped and how many blocks
// have all cells.
func (c *Conductor) measure(ctx context.Context, cells []PlannedCell) (why string, blocks int, err error) {
	all := len(cells)
	if all == 0 {
		return EndPrecision, 0, nil // every cell was searched, and no load was found to measure it at
	}
	standing := cells
	for block := 1; ; block++ {
		if block%2 == 1 && block > c.Plan.Times.MinimumBlocks { // the next one has the same cells, backwards
			cells = c.wanted(standing)
		}
		ran, err := c.block(ctx, cells, block)
		if err != nil || ctx.Err() != nil {
			return EndFailed, blocks, err
		}
		if !ran {
			return EndBudget, blocks, nil
		}
		if c.series.counted(block) == all {
			blocks++
		}
		c.showRatios()
		if block >= c.Plan.Times.MinimumBlocks && c.series.known(c.Plan.Times.Precision, func(cell string) bool { return !c.broken[cell] }) {
			return EndPrecision, blocks, nil
		}
		if standing = c.standing(standing); len(standing) == 0 {
			return EndFailed, blocks, errors.New("no cell's testbed stands any more")
		}
		if cells = c.standing(cells); len(cells) == 0 {
			cells = standing
		}
	}
}

// wanted are the cells of which more blocks would decide something: those of a ratio that is not known
// to the precision, or of a hypothesis that is undecided, and those that nobody compares. A ratio
// is of two trials of one block, so a block that has neither of its cells
// takes nothing from it; and which cells a block has was decided before it, by what is known of
// their ratios, so bounds hold as they do for a run that stops by the same look. All of them, if there are none.
func (c *Conductor) wanted(standing []PlannedCell) []PlannedCell {
	stands := func(name string) bool {
		return slices.ContainsFunc(standing, func(p PlannedCell) bool { return p.Record.Name == name })
	}
	open := slices.DeleteFunc(c.series.open(c.Plan.Times.Precision), func(r result.Ratio) bool { return !stands(r.Over) || !stands(r.Under) })
	var cells []PlannedCell
	for _, cell := range standing {
		name := cell.Record.Name
		if c.Plan.suspected(cell) || !c.series.compared(name) || slices.ContainsFunc(open, func(r result.Ratio) bool { return r.Over == name || r.Under == name }) {
			cells = append(cells, cell)
		}
	}
	if len(cells) == 0 {
		return standing
	}
	return cells
}

// block runs one trial of every cell, in the block's order; trials that do not count
// are repeated at its end. It reports whether it ran to its end, or the budget did.
func (c *Conductor) block(ctx context.Context, cells []PlannedCell, block int) (ran bool, err error) {
	queue := c.order(cells, block)
	attempts := map[string]int{}
	for order := 1; len(queue) > 0; order++ {
		cell := queue[0]
		queue = queue[1:]
		if ctx.Err() != nil || c.left()+c.grace(block) < c.takes(cell) {
			return false, nil
		}
		attempts[cell.Record.Name]++
		next := cell.trial(c.Plan.Times)
		next.Block, next.Order, next.Attempt = block, order, attempts[cell.Record.Name]
		t, err := c.trial(ctx, cell, next)
		if ctx.Err() != nil {
			return false, nil // a trial that was cut off is no trial
		}
		if writing := c.Out.Trial(t); writing != nil {
			return false, writing
		}
		if err != nil {
			return false, err
		}
		c.note(t)
		if t.Excluded != "" && c.mend(ctx, cell) && attempts[cell.Record.Name] < maxAttempts {
			queue = append(queue, cell)
		}
	}
	return true, nil
}

// order is random, and every second block has the order of the one before it,
// backwards: each cell then comes as often early as late, and whatever the place
// in a block does to a trial (a warm cache, a throttled CPU) cancels in pairs of
// blocks. Without that, two cells come in the same order in all of five blocks in
// one run of sixteen, and the order's effect passes for theirs.
func (c *Conductor) order(cells []PlannedCell, block int) []PlannedCell {
	if block%2 == 0 && sameNames(c.last, cells) {
		slices.Reverse(c.last)
	} else {
		c.last = slices.Clone(cells)
		c.random.Shuffle(len(c.last), func(i, j int) { c.last[i], c.last[j] = c.last[j], c.last[i] })
	}
	return slices.Clone(c.last)
}

func sameNames(a, b []PlannedCell) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one PlannedCell) bool {
		return !slices.ContainsFunc(b, func(other PlannedCell) bool { return one.Record.Name == other.Record.Name })
	})
}

// note takes a trial into the series and shows it, with the first ratio as soon
// as its two cells are measured.
func (c *Conductor) note(t result.Trial) {
	fresh := c.series.add(t)
	c.Progress.Trial(t, c.Plan.Times.BlocksPlanned, c.left())
	for _, ratio := range fresh {
		c.Progress.Ratio(ratio, c.series.estimate(ratio))
	}
}

func (c *Conductor) showRatios() {
	for _, ratio := range c.series.ratios {
		c.Progress.Ratio(ratio, c.series.estimate(ratio))
	}
}
