package traffic

import (
	"fmt"

	"windtunnel/result"
)

// JudgeDevice is Judge's verdict on a pair whose frames were forwarded by cores that did nothing else,
// and were busy for a share of the window. Where a load goes as fast as it can, they tell more than
// both ends, which may share a CPU and be in each other's way: cores that had time to spare were not
// given more to do. What the ends say stands where a rate was asked for, and where cores that
// had time lost packets.
func JudgeDevice(limit result.Limit, sender, receiver result.PairEnd, share float64) result.Limit {
	e, missing := evidenceOf(nil, sender, receiver)
	switch {
	case missing != "" || limit.Verdict == "" || e.target != 0:
		return limit
	case share >= busy:
		return result.Limit{Verdict: result.PathLimited, Says: fmt.Sprintf("the cores that only forward were busy %s of the time", percent(share))}
	case e.loss >= lossy:
		return limit
	}
	return result.Limit{Verdict: result.GeneratorLimited,
		Says: fmt.Sprintf("the cores that only forward were busy %s of the time: what sends and counts gave them no more", percent(share))}
}
