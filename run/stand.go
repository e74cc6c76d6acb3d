package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"windtunnel/testbed"
)

// rebuildTime is what taking one cell down and building the next takes, where one stands at a time.
// Containers of engines take longer, and virtual machines as long as when they boot first.
const (
	rebuildTime    = 600 * time.Millisecond
	rebuildEngines = 1500 * time.Millisecond
)

// rebuild is what that takes before each trial, on average of the cells.
func (p Plan) rebuild() time.Duration {
	cells := p.Runnable()
	if !p.OneAtATime || len(cells) == 0 {
		return 0
	}
	sum := time.Duration(0)
	for _, cell := range cells {
		sum += rebuildTime
		if len(cell.Laid.Graph.Engines) > 0 {
			sum += rebuildEngines
		}
		if len(cell.Laid.Graph.VMs) > 0 {
			sum += setUpMachines
		}
	}
	return sum / time.Duration(len(cells))
}

// stand makes a cell stand where one cell stands at a time, as on real hosts, whose one interface they
// all need. Where all stand at once there is nothing to do.
func (c *Conductor) stand(ctx context.Context, cell PlannedCell) error {
	if !c.Plan.OneAtATime {
		return nil
	}
	if c.stands == cell.Record.Name {
		return c.plugged(ctx, cell)
	}
	if err := c.vacate(removePatience); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, buildLimit(cell))
	defer cancel()
	c.stands = cell.Record.Name // also where it fails half-way
	if err := c.buildCell(ctx, cell); err != nil {
		return fmt.Errorf("building its testbed again: %w", errors.Join(err, c.vacate(removePatience)))
	}
	return nil
}

// plugged waits until a cable that the trial before has pulled carries again, which a real NIC takes seconds for.
func (c *Conductor) plugged(ctx context.Context, cell PlannedCell) error {
	if !slices.ContainsFunc(cell.Laid.Graph.Links, func(l testbed.Link) bool { return l.Pull != nil }) {
		return nil
	}
	if err := c.verifyCell(ctx, cell); err != nil {
		return fmt.Errorf("plugging its cable in again: %w", err)
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
