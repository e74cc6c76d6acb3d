package stats

import (
	"fmt"

	"windtunnel/result"
)

// OfRates is the ratio of two rates that searches found, each with an interval of its own. Its bounds are the
// least and the largest quotient of the two intervals: the searches were one after the other, so
// that nothing cancels. N is the trials of the one that had fewer.
func OfRates(over, under result.Figure) Estimate {
	for _, f := range []result.Figure{over, under} {
		switch {
		case !f.Known():
			return Estimate{Reason: f.Reason}
		case f.Low == nil || f.High == nil:
			return Estimate{Reason: fmt.Sprintf("one rate is only known to be at least %.4g per second", f.Mean)}
		case !(*f.Low > 0 && f.Mean > 0 && *f.High > 0):
			return Estimate{Reason: fmt.Sprintf("a rate of %.4g per second has no ratio", f.Mean)}
		}
	}
	low, high := *over.Low / *under.High, *over.High / *under.Low
	return Estimate{Estimate: over.Mean / under.Mean, Low: &low, High: &high, N: min(over.N, under.N)}
}
