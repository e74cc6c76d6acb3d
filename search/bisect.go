package search

import "windtunnel/result"

// bisect halves between the highest load that met the goal and the lowest that
// did not, with trials of one length. Bounds are hard: nothing outside them is
// tried again. RFC 2544, section 26.1, begins with the highest rate.
func (b *bench) bisect(g result.SearchGoal) error {
	upper, met, err := b.verified(g, b.highest)
	if err != nil || met {
		return err
	}
	lower := 0.0
	for upper-max(lower, b.MinLoad) > g.Width*upper {
		load, met, err := b.verified(g, (max(lower, b.MinLoad)+upper)/2)
		if err != nil {
			return err
		}
		if met {
			lower = load
		} else {
			upper = load
		}
	}
	if lower > 0 {
		return nil
	}
	_, _, err = b.verified(g, b.MinLoad)
	return err
}

// verified measures at a load, and again after a lossy trial as often as the goal
// says (TST009, clause 12.3.3, without its limit z to the losses that are worth it):
// a load is met if one trial meets it. The load is what the generator could do.
func (b *bench) verified(g result.SearchGoal, load float64) (reached float64, met bool, err error) {
	for range 1 + g.Repeats {
		t, err := b.offer(g.FinalTrialSeconds, load)
		if err != nil || t.LossRatio <= g.LossRatio {
			return t.Load, err == nil, err
		}
		load = t.Load
	}
	return load, false, nil
}
