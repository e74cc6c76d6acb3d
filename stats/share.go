package stats

import (
	"math"

	"windtunnel/result"
)

// Share is how much of a difference a part of it is, both by block and in the same unit, as logarithms of ratios are:
// 1 is all of it. More than all of it, and less than nothing, are answers: other parts then weigh against it.
//
// Its bounds are the shares s for which the interval of part - s whole holds 0, so they hold as that interval does,
// under a look after every block. Source: Fieller, "Some problems in interval estimation", Journal of the Royal
// Statistical Society B 16 (1954), with this package's interval in place of Student's.
func Share(part, whole []float64) result.Figure { return shareAmong(part, whole, alone) }

// shareAmong is one of a family's shares, which hold together.
func shareAmong(part, whole []float64, family Family) result.Figure {
	n := min(len(part), len(whole))
	if n == 0 {
		return result.Missing("no block has both cells")
	}
	part, whole = part[:n], whole[:n]
	p, deviationP := moments(part)
	w, deviationW := moments(whole)
	if w == 0 {
		return result.Missing("there is no difference")
	}
	figure := result.Figure{Mean: p / w, N: n}
	if n < MinimumBlocks {
		return figure
	}
	covariance := 0.0
	for i := range part {
		covariance += (part[i] - p) * (whole[i] - w) / float64(n-1)
	}
	errors := standardErrors(n, family)
	reach := errors * errors / float64(n)
	a := w*w - reach*deviationW*deviationW
	b := p*w - reach*covariance
	c := p*p - reach*deviationP*deviationP
	if !(a > 0) {
		return result.Missing("the difference itself may be none")
	}
	root := math.Sqrt(math.Max(0, b*b-a*c))
	low, high := (b-root)/a, (b+root)/a
	if math.IsInf(high-low, 0) || math.IsNaN(high-low) {
		return result.Missing("the blocks differ too much")
	}
	figure.Low, figure.High = &low, &high
	return figure
}
