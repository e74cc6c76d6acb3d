package run

import (
	"fmt"
	"time"

	"windtunnel/result"
)

// How much longer than planned anything may take when something hangs. In the
// worst case a node stops answering in the last trial: then that trial, its stop,
// the teardown and the end of the agents each wait in vain, and all that still
// ends within 15 s of the budget.
const (
	buildPatience = 15 * time.Second // for one cell
	bootPatience  = 60 * time.Second // more, where virtual machines boot, which may be emulated
	trialPatience = 4 * time.Second  // beyond a trial's own times
	stopPatience  = 4 * time.Second
	// An agent may take so long to end a process that does not end by itself (stopWithin and
	// killWithin in testbed/netns).
	removePatience = 8 * time.Second

	teardownLeast = 2 * time.Second
	teardownMost  = 15 * time.Second
	mostGrace     = 5 * time.Second

	// teardownOver is until when after the budget's end a teardown may go on.
	teardownOver = 8 * time.Second
)

// buildLimit bounds the building of a cell, which ends with a try of its path by what will send there.
func buildLimit(cell PlannedCell) time.Duration {
	limit := buildPatience + cell.beginsWithin
	if len(cell.Laid.Graph.VMs) > 0 {
		limit += bootPatience
	}
	return limit
}

// trialLimit bounds a trial, from its preparation on.
func trialLimit(cell PlannedCell, t result.Trial) time.Duration {
	return trialLength(t.WarmupSeconds, t.WindowSeconds) + trialPatience + cell.beginsWithin + cell.lingers
}

// tooLate is why a trial is not begun whose ends took so long to be ready: it would not end within its limit.
func tooLate(cell PlannedCell, took time.Duration) error {
	if took <= trialPatience+cell.beginsWithin {
		return nil
	}
	return fmt.Errorf("getting ready took its ends %s, which leaves too little of the trial's time", took.Round(100*time.Millisecond))
}

// teardownLimit bounds the teardown of a cell.
func (c *Conductor) teardownLimit() time.Duration {
	return min(max(c.left()+closingTime+teardownOver, teardownLeast), teardownMost)
}
