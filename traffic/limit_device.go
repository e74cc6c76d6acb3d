package traffic

import (
	"fmt"

	"windtunnel/result"
)

// JudgeDevice is Judge's verdict on a pair whose frames were forwarded by cores that did nothing else,
// and were busy for a share of the window. Where a load goes as fast as it can, they tell more than
// both ends, which may share a CPU and be in each other's way: cores that had time to spare were not
// given more to do. What the ends say stands where a rate was asked for, where cores that
// had time lost packets, and where a load waits for its far end: one that TCP or an answer paces leaves time to
// cores and ends alike, whatever is the limit.
func JudgeDevice(limit result.Limit, sender, receiver result.PairEnd, share float64) result.Limit {
	loss, presses := 0.0, true
	for _, way := range result.Ways(sender, receiver) {
		e, missing := evidenceOf(nil, way.Sender, way.Receiver)
		if missing != "" || e.target != 0 {
			return limit
		}
		loss = max(loss, e.loss)
		presses = presses && way.Sender.Packets > 0 && !e.asks && e.flatOut()
	}
	switch {
	case limit.Verdict == "":
		return limit
	case share >= busy:
		return result.Limit{Verdict: result.PathLimited, Says: fmt.Sprintf("the cores that only forward were busy %s of the time", percent(share))}
	case loss >= lossy || !presses && limit.Verdict != result.GeneratorLimited:
		return limit
	}
	return result.Limit{Verdict: result.GeneratorLimited,
		Says: fmt.Sprintf("the cores that only forward were busy %s of the time: what sends and counts gave them no more", percent(share))}
}
