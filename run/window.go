package run

import (
	"time"

	"windtunnel/result"
)

// ownWindows settles how long the trials of cells are whose windows are the suite's and not the planner's.
func (p Plan) ownWindows() {
	for i := range p.Cells {
		cell := &p.Cells[i]
		if cell.window == 0 {
			continue
		}
		if cell.warmUp = warmUpOf(cell.window); p.foreign() {
			cell.window, cell.warmUp = foreignTimes(cell.window)
		}
	}
}

// warmUpOf grows with the window.
func warmUpOf(window time.Duration) time.Duration {
	return min(max(window/5, shortWarmUp), longWarmUp)
}

// trial is one of the cell's, of its own length or the plan's.
func (c PlannedCell) trial(t result.Plan) result.Trial {
	if c.window > 0 {
		return result.Trial{WarmupSeconds: c.warmUp.Seconds(), WindowSeconds: c.window.Seconds()}
	}
	return result.Trial{WarmupSeconds: t.WarmupSeconds, WindowSeconds: t.WindowSeconds}
}

// trialTime is what one trial of a cell takes in all.
func trialTime(t result.Plan, cell PlannedCell) time.Duration {
	trial := cell.trial(t)
	return trialLength(trial.WarmupSeconds, trial.WindowSeconds) + cell.begins + time.Duration(t.RebuildSeconds*float64(time.Second))
}

// takes is the same, where a program of others began slower than was planned as slowly as it last did.
func (c *Conductor) takes(cell PlannedCell) time.Duration {
	all := trialTime(c.Plan.Times, cell)
	if cell.begins > 0 {
		all += max(0, c.readied[cell.Record.Name]-cell.begins)
	}
	return all
}

// blockTime is what one trial of each of the cells takes.
func blockTime(t result.Plan, cells []PlannedCell) (sum time.Duration) {
	for _, cell := range cells {
		sum += trialTime(t, cell)
	}
	return sum
}

// evenWindow is the one, of all cells that have none of their own, with which a budget has as many blocks as are aimed at.
func (p Plan) evenWindow(left time.Duration, t result.Plan) time.Duration {
	block := left / blocksAimed
	even := time.Duration(0)
	for _, cell := range p.Runnable() {
		if cell.window > 0 {
			block -= trialTime(t, cell)
		} else {
			even++
			block -= cell.begins
		}
	}
	if even == 0 {
		return shortWindow
	}
	window := block/even - trialLength(longWarmUp.Seconds(), 0) - time.Duration(t.RebuildSeconds*float64(time.Second))
	return min(max(window.Round(100*time.Millisecond), shortWindow), longWindow)
}
