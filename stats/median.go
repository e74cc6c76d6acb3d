package stats

import (
	"math"
	"slices"
)

// signPrior is the shape of the beta distribution that the share of pairs on one side of the median is
// mixed over. It decides at which n the bounds are tightest and nothing else: 1/4 gives bounds from 6
// pairs on, and leaves 1, 3, 6 and 16 pairs out at either end of 12, 20, 30 and 60; Krichevsky and
// Trofimov's 1/2 the same of large n, and none of 6.
const signPrior = 0.25

// MedianRatio estimates over/under, paired by block, by the median of the pairs' ratios. Its bounds are
// two of these ratios, of whatever distribution: nothing is assumed but that pairs are independent, so
// a pair that something disturbed costs one place in their order however far off it is. They hold under
// a look after every pair and stopping by what it shows.
func MedianRatio(over, under []float64) Estimate {
	blocks := make([]Block, min(len(over), len(under)))
	for i := range blocks {
		blocks[i] = Block{Number: i + 1, Over: over[i], Under: under[i]}
	}
	logs, reason := logRatios(blocks)
	if reason != "" {
		return Estimate{Reason: reason}
	}
	slices.Sort(logs)
	n := len(logs)
	e := Estimate{Estimate: math.Exp(median(logs)), N: n}
	if out := leftOut(n); out > 0 {
		low, high := math.Exp(logs[out-1]), math.Exp(logs[n-out])
		e.Low, e.High = &low, &high
	}
	return e
}

// leftOut is which of n ordered samples, counted from either end, is a bound of the median: 0 is none.
func leftOut(n int) int {
	out := 0
	for out < n/2 && signEvidence(out, n)*mistake >= 1 {
		out++
	}
	return out
}

// signEvidence is how many times likelier it is that `below` of n samples lie under a value when the
// chance of it is anything, by the prior, than when it is a half, as of the median.
//
// Method: a beta mixture of the binomial likelihood ratio, a martingale for every distribution whose
// median the value is. It stays under 1/alpha for ever with probability 1-alpha (Ville's inequality),
// so the values that it does not reject are an interval that holds at all n at once. Sources: Robbins,
// "Statistical methods related to the law of the iterated logarithm", Annals of Mathematical Statistics
// 41 (1970); Howard and Ramdas, "Sequential estimation of quantiles with applications to A/B testing
// and best-arm identification", Bernoulli 28 (2022), section 3.
func signEvidence(below, n int) float64 {
	log := float64(n)*math.Ln2 + logBeta(float64(below)+signPrior, float64(n-below)+signPrior) - logBeta(signPrior, signPrior)
	return math.Exp(log)
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	sum, _ := math.Lgamma(a + b)
	return x + y - sum
}
