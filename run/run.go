package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"windtunnel/result"
)

// The reasons for which a run ends, in its last record.
const (
	EndPrecision   = "precision"
	EndBudget      = "budget"
	EndInterrupted = "interrupted"
	EndFailed      = "failed"
)

// Writer takes the records as they come; result.Writer is the real one.
type Writer interface {
	Run(result.Run) error
	Cell(result.Cell) error
	Search(result.Search) error
	Trial(result.Trial) error
	Profile(result.Profile) error
	Latency(result.LatencyAt) error
	EqualRate(result.EqualRate) error
	End(result.End) error
}

// Conductor runs one plan on its nodes.
type Conductor struct {
	Plan     Plan
	Nodes    []Node // in the order of Plan.Nodes
	Clock    Clock
	Out      Writer
	Progress Progress
	Header   result.Run // what the caller knows of the run: id, command, version
	// Known is what generators reached here before; nil: nothing is remembered.
	Known Calibrations

	began      time.Time
	reserved   after // of the budget, for what comes after the blocks
	random     *rand.Rand
	series     *series
	last       []PlannedCell             // the last block's order
	generators map[string]float64        // what each reaches without a path, per second, by key
	stands     string                    // the one cell that stands, where it is one at a time
	narrow     map[string][]result.Doubt // of cells whose path passes less than its ends do
	readied    map[string]time.Duration  // how long each cell's ends took to be ready for its last trial
	broken     map[string]bool           // cells whose testbed is gone and could not be rebuilt
}

// Run builds every cell, measures until each ratio is known or the budget ends,
// and takes the testbeds down. Whatever happens, the records up to then are
// written. The error says why the run failed, or what an interrupted one could
// not take down; the interruption itself is none.
func (c *Conductor) Run(ctx context.Context) (result.End, error) {
	c.began = c.Clock.Now()
	c.random = rand.New(rand.NewPCG(c.Plan.Seed, c.Plan.Seed^0x9e3779b97f4a7c15))
	c.reserved = c.Plan.after(time.Duration(c.Plan.Times.BudgetSeconds * float64(time.Second)))
	c.series, c.broken, c.narrow = newSeries(c.Plan), map[string]bool{}, map[string][]result.Doubt{}
	c.readied = map[string]time.Duration{}
	if err := c.Out.Run(c.header()); err != nil {
		return result.End{}, err
	}
	cells, err := c.build(ctx)
	end := result.End{Why: EndFailed}
	if err == nil {
		c.calibrate(ctx, cells)
		cells, err = c.find(ctx, cells)
	}
	if err == nil {
		end.Why, end.Blocks, err = c.measure(ctx, cells)
	}
	if err == nil && ctx.Err() == nil {
		err = errors.Join(c.half(ctx, cells), c.equal(ctx, cells))
	}
	if ctx.Err() != nil {
		err = nil // what was cut off is no failure; what is left behind, below, is
	}
	if err = errors.Join(err, c.restore(c.teardownLimit(), cells...)); err != nil {
		end.Why, end.Error = EndFailed, err.Error()
	}
	if ctx.Err() != nil {
		end.Why = EndInterrupted
	}
	end.ElapsedSeconds = c.elapsed().Seconds()
	if unwritten := c.Out.End(end); !errors.Is(err, unwritten) { // a file that failed before says so again
		err = errors.Join(err, unwritten)
	}
	return end, err
}

func (c *Conductor) header() result.Run {
	h := c.Header
	p := c.Plan
	h.Suite, h.Asks, h.Source, h.Seed = p.Suite.Suite, p.Suite.Asks, p.Suite.Source, p.Seed
	h.Plan, h.Ratios, h.Hypotheses = p.Times, p.Ratios, p.Hypotheses
	h.Assumed, h.Why = assumed(p.Suite.Assumed), p.Suite.Why
	h.Doubts = append(h.Doubts, p.Doubts...)
	h.Nodes = c.runNodes()
	if cells := p.Runnable(); len(cells) > 0 {
		h.Wire = cells[0].Record.Wire
	}
	return h
}

// runNodes are the plan's, with what they are.
func (c *Conductor) runNodes() []result.RunNode {
	nodes := append([]result.RunNode(nil), c.Plan.Nodes...)
	for i, node := range c.Nodes {
		nodes[i].Fingerprint = node.Fingerprint()
	}
	return nodes
}

func (c *Conductor) elapsed() time.Duration { return c.Clock.Now().Sub(c.began) }

// left is what is left of the budget for building and measuring.
// grace is how far a run may go over its budget for the blocks without which no
// ratio has bounds: a repeated trial must not cost all of them.
func (c *Conductor) grace(block int) time.Duration {
	if block > c.Plan.Times.MinimumBlocks {
		return 0
	}
	return min(time.Duration(c.Plan.Times.BudgetSeconds*float64(time.Second))/20, mostGrace)
}

func (c *Conductor) left() time.Duration {
	return time.Duration(c.Plan.Times.BudgetSeconds*float64(time.Second)) - closingTime - c.reserved.halves - c.reserved.equal - c.elapsed()
}

// build makes every runnable cell's testbed stand, idle, beside the others. A
// cell that cannot be built is recorded as failed and left out; the suite goes on.
// Every cell is recorded, whatever ends the building.
func (c *Conductor) build(ctx context.Context) (standing []PlannedCell, fatal error) {
	for _, cell := range c.Plan.Cells {
		if cell.Record.Skipped == "" {
			cell.Record.Failed = "the run ended before it was built"
			if fatal == nil && ctx.Err() == nil {
				cell.Record.Failed, fatal = c.tryBuilding(ctx, cell)
				c.lookAt(ctx, &cell)
				cell.Record.Doubts = append(append(cell.Record.Doubts, c.narrow[cell.Record.Name]...), c.shallow(cell)...)
			}
			if cell.Record.Failed == "" {
				standing = append(standing, cell)
			}
		}
		if err := c.Out.Cell(cell.Record); err != nil {
			return standing, err
		}
	}
	if len(standing) == 0 && fatal == nil {
		fatal = errors.New("no cell could be built")
	}
	return standing, fatal
}

// tryBuilding builds a cell, or says why it cannot be. The error is the run's
// end: what was half built does not go, or a node does not answer any more.
func (c *Conductor) tryBuilding(ctx context.Context, cell PlannedCell) (why string, err error) {
	if c.left() <= 0 {
		return "the budget ended before it was built", nil
	}
	c.Progress.Building(cell.Record.Name)
	limit := min(c.left(), buildLimit(cell))
	building, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	failed := c.vacate(removePatience)
	if c.Plan.OneAtATime {
		c.stands = cell.Record.Name
	}
	if failed == nil {
		failed = c.buildCell(building, cell)
	}
	if failed != nil && building.Err() != nil && limit < buildLimit(cell) {
		failed = fmt.Errorf("the budget ended while it was built, after %s: give a longer --budget: %w", limit.Round(100*time.Millisecond), failed)
	}
	if ctx.Err() != nil {
		return "the run ended while it was built", nil
	}
	if failed == nil {
		return "", nil
	}
	c.Progress.Say(fmt.Sprintf("cell %s cannot be built: %v", cell.Record.Name, failed))
	if err := c.restore(min(removePatience, c.teardownLimit()), cell); err != nil {
		return failed.Error(), fmt.Errorf("cell %s cannot be built: %w", cell.Record.Name, errors.Join(failed, err))
	}
	return failed.Error(), nil
}
