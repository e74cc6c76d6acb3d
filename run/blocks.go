package run

import (
	"context"

	"windtunnel/result"
)

// maxAttempts is how often a cell is tried in one block until a trial counts.
const maxAttempts = 3

// measure runs blocks until every ratio is known or the budget ends. It returns
// why it stopped and how many blocks are whole.
func (c *Conductor) measure(ctx context.Context, cells []PlannedCell) (why string, blocks int, err error) {
	for block := 1; ; block++ {
		whole, err := c.block(ctx, cells, block)
		if err != nil || ctx.Err() != nil {
			return EndFailed, blocks, err
		}
		if !whole {
			return EndBudget, blocks, nil
		}
		blocks++
		c.showRatios()
		if blocks >= c.Plan.Times.MinimumBlocks && c.series.known(c.Plan.Times.Precision) {
			return EndPrecision, blocks, nil
		}
	}
}

// block runs one trial of every cell, in random order; trials that do not count
// are repeated at its end. It is whole unless the budget ended in it.
func (c *Conductor) block(ctx context.Context, cells []PlannedCell, block int) (whole bool, err error) {
	queue := c.shuffled(cells)
	attempts := map[string]int{}
	for order := 1; len(queue) > 0; order++ {
		cell := queue[0]
		queue = queue[1:]
		if ctx.Err() != nil || c.left() < trialTime(c.Plan.Times) {
			return false, nil
		}
		attempts[cell.Record.Name]++
		t, err := c.trial(ctx, cell, result.Trial{Block: block, Order: order, Attempt: attempts[cell.Record.Name]})
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
		if t.Excluded != "" && attempts[cell.Record.Name] < maxAttempts {
			queue = append(queue, cell)
		}
	}
	return true, nil
}

func (c *Conductor) shuffled(cells []PlannedCell) []PlannedCell {
	order := append([]PlannedCell(nil), cells...)
	c.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
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
	for _, ratio := range c.Plan.Ratios {
		c.Progress.Ratio(ratio, c.series.estimate(ratio))
	}
}
