package stats

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// OfRates is the ratio of two rates that searches found, each with an interval of its own. Its bounds are the
// least and the largest quotient of the two intervals: the searches were one after the other, so
// that nothing cancels. Of a rate that is only known to be at least so high, the ratio has one bound, and is no more than that. N is the
// trials of the one that had fewer.
func OfRates(over, under result.Figure) Estimate { return Family(1).OfRates(over, under) }

// OfRates is a ratio of two found rates as one of the family's. Nothing is left of the trials behind an interval but that it
// is one of 95 %, so it is made as much wider as that of a Gaussian logarithm would have to be (Bonferroni).
func (f Family) OfRates(over, under result.Figure) Estimate {
	for _, f := range []result.Figure{over, under} {
		switch {
		case !f.Known():
			return Estimate{Reason: f.Reason}
		case f.Low == nil:
			return Estimate{Reason: fmt.Sprintf("a rate of %.4g per second has no bounds", f.Mean)}
		case !(*f.Low > 0 && f.Mean > 0) || f.High != nil && !(*f.High > 0):
			return Estimate{Reason: fmt.Sprintf("a rate of %.4g per second has no ratio", f.Mean)}
		}
	}
	if over.High == nil && under.High == nil {
		return Estimate{Reason: fmt.Sprintf("both rates are only known to be at least so high: %.4g and %.4g per second", *over.Low, *under.Low)}
	}
	e := Estimate{Estimate: over.Mean / under.Mean, N: min(over.N, under.N)}
	low, high := 0.0, math.Inf(1)
	if under.High != nil {
		low = f.widened(over, *over.Low) / f.widened(under, *under.High)
	}
	if over.High != nil {
		high = f.widened(over, *over.High) / f.widened(under, *under.Low)
	}
	switch {
	case over.High == nil && low > 0: // and the ratio may be any higher one
		e.Estimate, e.Low = low, &low
	case under.High == nil && !math.IsInf(high, 1):
		e.Estimate, e.High = high, &high
	case low > 0 && !math.IsInf(high, 1):
		e.Low, e.High = &low, &high
	}
	return e
}

// widened is a bound of a rate as one of the family's.
func (f Family) widened(rate result.Figure, bound float64) float64 {
	return rate.Mean * math.Pow(bound/rate.Mean, gaussianQuantile(f.mistake()/2)/gaussianQuantile(mistake/2))
}

// gaussianQuantile is the value that the standard normal distribution passes with probability p < 1/2.
func gaussianQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }
