package search

import (
	"math"

	"windtunnel/result"
)

// settle goes on measuring in noise, until every goal's interval is as narrow as it
// should be. Bounds that more trials take back are looked for again.
func (b *bench) settle(ladders [][]step) error {
	for {
		for _, l := range ladders {
			if err := b.narrow(l, len(l)-1); err != nil {
				return err
			}
		}
		w := b.observe()
		at := b.unsettled(w)
		if at == 0 && w.fitted && !w.bimodal && !b.bent && !forwards(w.points, w.drifting) {
			b.bent = true
			continue
		}
		if at == 0 {
			return nil
		}
		if _, err := b.trial(b.full(), min(max(at, b.MinLoad), b.highest)); err != nil {
			return err
		}
	}
}

// unsettled is the load at which to go on, 0 if that is not necessary.
func (b *bench) unsettled(w weather) float64 {
	worst, at := 0.0, 0.0
	for _, g := range b.Goals {
		lower, upper := bounds(b.trials, g)
		// What a generator falls short by follows the load, too: nothing narrows that.
		idle := w.follows && b.byGenerator(g, upper, result.BasisOutcomes) || b.rarelyKeeps() && b.heldUp(g, lower, upper)
		if lower == 0 || upper == 0 || g.LargestIntervalPercent == 0 || idle {
			continue
		}
		if b.suspicious(w) || w.noisy && !w.fitted && !w.bent {
			return b.overload(upper)
		}
		s := b.state(g, w)
		if wide := (math.Log(s.high/s.low) - s.drift) / math.Log1p(g.LargestIntervalPercent/100); wide > max(1, worst) {
			worst, at = wide, b.telling(s, w)
		}
	}
	return at
}

// overload is one load, above most limits that were seen, at which trials are repeated
// to see how they differ: no bound is taken back there.
func (b *bench) overload(upper float64) float64 {
	if b.above == 0 {
		b.above = upper * math.Exp(width)
		if lost := b.lossy(); len(lost) > 1 {
			seen := level(lost)
			b.above = max(b.above, math.Exp(seen.middle+2*min(seen.deviation, nearby/4)))
		}
	}
	return b.above
}

// telling is a load at which a trial says the most. Above most limits, each trial tells
// its own; where only outcomes count, half of them should go either way.
func (b *bench) telling(s stated, w weather) float64 {
	switch {
	case s.basis == result.BasisModes:
		return math.Exp(w.modes.fast.middle + 3*w.modes.fast.deviation + width)
	case s.basis == result.BasisLimits:
		return math.Exp(w.fit.middle + w.fit.slope/2 + w.fit.deviation)
	case s.rate > 0:
		return s.rate
	}
	return b.highest
}
