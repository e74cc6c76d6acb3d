package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"windtunnel/agent"
	"windtunnel/result"
	"windtunnel/search"
)

// Latency at half of what arrived flat out is measured once a cell, in a trial of its own after the
// blocks, if that takes no more than a fifth of the budget.
const (
	half       = 0.5
	halfWindow = 500 * time.Millisecond
	halfMostOf = 5
	// halfSpare is what a trial of frames takes beyond the planner's overhead: sessions, probes, and the
	// kernel's work before and after live frames. Blocks get fewer by it; this trial would not be.
	halfSpare   = 500 * time.Millisecond
	halfOverall = searchWarmUp + halfWindow + trialOverhead + startDelay + halfSpare
)

// halves tells whether a cell's frames can tell their latency, and go as fast as they can until then.
func (p Plan) halves(cell PlannedCell) bool {
	r := cell.Record
	if program, _, _ := agent.Generator(r.Traffic, r.Load); program != "" {
		return false // whose frames do not tell when they left
	}
	return len(cell.Laid.Graph.Ports) > 0 && r.Find == nil && search.Rated(r.Load) == "" &&
		slices.Contains(search.Units(p.Loads[r.Traffic]), result.PacketsPerSecond)
}

// halvesTime is what these trials take in all, 0 where the budget is too short for them.
func (p Plan) halvesTime(budget time.Duration) time.Duration {
	sum := time.Duration(0)
	for _, cell := range p.Runnable() {
		if p.halves(cell) {
			sum += halfOverall
		}
	}
	if sum > budget/halfMostOf {
		return 0
	}
	return sum
}

// half measures the cells' latencies. One that cannot be measured says why, and ends nothing.
func (c *Conductor) half(ctx context.Context, cells []PlannedCell) error {
	if c.reserved.halves == 0 {
		return nil
	}
	c.reserved.halves = 0
	for _, cell := range cells {
		name := cell.Record.Name
		load := half * c.series.mean(name, result.ReceivedPacketRate)
		if !c.Plan.halves(cell) || c.broken[name] || load == 0 || ctx.Err() != nil {
			continue
		}
		l := result.LatencyAt{Cell: name, Unit: result.PacketsPerSecond, At: result.SearchLatency{Share: half, Load: load}}
		if c.left()+c.grace(0) < halfOverall {
			l.At.Reason = "the budget ended before it was measured"
		} else if quantiles, lost, err := c.framesAt(ctx, cell, l.Unit, load, halfWindow); err != nil {
			l.At.Reason = err.Error()
		} else {
			l.At.Seconds, l.At.LossRatio = quantiles, lost
		}
		if ctx.Err() != nil {
			return nil
		}
		c.Progress.Say(fmt.Sprintf("  %s: latency %s", name, l.At.Words(l.Unit)))
		if err := c.Out.Latency(l); err != nil {
			return err
		}
	}
	return nil
}

// framesAt measures the latency of a cell's own frames at a load.
func (c *Conductor) framesAt(ctx context.Context, cell PlannedCell, unit string, load float64, window time.Duration) (map[string]result.Figure, float64, error) {
	cell.Record.Load = search.Paced(cell.Record.Load, unit, load, len(cell.Record.Pairs))
	t, err := c.alone(ctx, cell, window.Seconds(), maxAttempts)
	if err != nil {
		return nil, 0, err
	}
	h, err := t.Latencies(result.LatencyActual, false)
	if err != nil {
		return nil, 0, err
	}
	m := search.Counted(unit, t.Pairs)
	return search.Quantiles(h), max(0, 1-m.Received/m.Sent), nil
}
