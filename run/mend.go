package run

import (
	"context"
	"fmt"
	"slices"
)

// mend looks at a cell whose trial did not count, and rebuilds its testbed where
// something in it is gone: a router that died would spoil every later trial of
// it, and take the others' time. It reports whether the cell can go on.
func (c *Conductor) mend(ctx context.Context, cell PlannedCell) bool {
	ctx, cancel := context.WithTimeout(ctx, min(buildLimit(cell), max(c.left(), 0)+buildPatience))
	defer cancel()
	gone := c.verifyCell(ctx, cell)
	if gone == nil {
		return true
	}
	name := cell.Record.Name
	c.Progress.Say(fmt.Sprintf("cell %s: rebuilding its testbed: %v", name, gone))
	c.clear(cell)
	if c.Plan.OneAtATime {
		c.stands = name
	}
	if err := c.buildCell(ctx, cell); err != nil {
		c.Progress.Say(fmt.Sprintf("cell %s is left out from here on: %v", name, err))
		c.broken[name] = true
		c.clear(cell) // what was half built would run beside the others
	}
	return !c.broken[name]
}

// clear takes a cell's testbed away; the run goes on if that fails.
func (c *Conductor) clear(cell PlannedCell) {
	if err := c.restore(removePatience, cell); err != nil {
		c.Progress.Say(fmt.Sprintf("cell %s: %v", cell.Record.Name, err))
	}
}

// standing are the cells that can go on.
func (c *Conductor) standing(cells []PlannedCell) []PlannedCell {
	return slices.DeleteFunc(slices.Clone(cells), func(cell PlannedCell) bool { return c.broken[cell.Record.Name] })
}
