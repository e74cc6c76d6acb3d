package run

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// rebuildTime is what taking one cell down and building the next takes, where one stands at a time.
const rebuildTime = 600 * time.Millisecond

// stand makes a cell stand where one cell stands at a time, as on real hosts, whose one interface they
// all need. Where all stand at once there is nothing to do.
func (c *Conductor) stand(ctx context.Context, cell PlannedCell) error {
	if !c.Plan.OneAtATime || c.stands == cell.Record.Name {
		return nil
	}
	if err := c.vacate(removePatience); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, buildPatience)
	defer cancel()
	c.stands = cell.Record.Name // also where it fails half-way
	if err := c.buildCell(ctx, cell); err != nil {
		return fmt.Errorf("building its testbed again: %w", errors.Join(err, c.vacate(removePatience)))
	}
	return nil
}

// vacate takes the standing cell down.
func (c *Conductor) vacate(limit time.Duration) error {
	for _, cell := range c.Plan.Cells {
		if cell.Record.Name != c.stands {
			continue
		}
		if err := c.restore(limit, cell); err != nil {
			return fmt.Errorf("making room for the next cell: %w", err)
		}
	}
	c.stands = ""
	return nil
}
