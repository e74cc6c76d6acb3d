package stats

import "math"

// Steady is what the interval series of one cell's trials say of when its rate is steady.
type Steady struct {
	From  int      // the interval that the steady part begins with; 0: the first
	Early Estimate // of From > 0: the rate before it over the rate from it on; N is trials
	Share float64  // by how much the whole series' mean differs from the steady part's: -0.03 is 3 % lower
	Ended bool     // there is no steady part: the rate still changes in the second half
}

// Matters reports whether the beginning differs from the rest, beyond what chance does in 1 of 20 cells, and by
// enough to change the cell's figure.
func (s Steady) Matters() bool { return s.Early.Differs() && math.Abs(s.Share) >= steadyMatters }

const (
	steadyMatters   = 0.01 // of the mean
	nearlyLeast     = 1.5  // times the least squared error
	leastEarly      = 1e-3 // of the rest's rate: a beginning in which nothing flows has a ratio, too
	steadyIntervals = 6    // of which a series has at least so many, or nothing is said
)

// SteadyState finds from where on the trials' rates are steady. A series is one trial's rates by interval, all cut at
// the same times; ok is false where there are fewer than MinimumBlocks trials, or too few intervals.
//
// Method: the mean over trials, interval by interval (Welch, "The statistical analysis of simulation
// results", 1983), is cut where the rest has the least standard error for its own mean (MSER: White,
// "An effective truncation heuristic for bias reduction in simulation output", Simulation 69
// (1997)), not beyond its middle. Whether what was cut off really differs is asked of the trials, each
// by its own ratio of the two parts, as one of as many ratios as there were places to cut. Of cuts that are
// nearly as good the first is taken: with few intervals, MSER alone cuts too much.
func SteadyState(trials [][]float64) (s Steady, ok bool) {
	n := math.MaxInt
	for _, series := range trials {
		n = min(n, len(series))
	}
	if len(trials) < MinimumBlocks || n < steadyIntervals {
		return Steady{}, false
	}
	overall := make([]float64, n)
	for _, series := range trials {
		mean, _ := moments(series[:n])
		if !(mean > 0) || math.IsInf(mean, 1) {
			return Steady{}, false
		}
		for i, x := range series[:n] {
			overall[i] += x / mean / float64(len(trials))
		}
	}
	s.From = truncation(overall)
	if s.From == 0 {
		return s, true
	}
	blocks := make([]Block, len(trials))
	for i, series := range trials {
		early, _ := moments(series[:s.From])
		late, _ := moments(series[s.From:n])
		blocks[i] = Block{Number: i + 1, Over: math.Max(early, leastEarly*late), Under: late}
	}
	s.Early = Family(n / 2).Ratio(blocks)
	s.Ended = s.From == n/2
	late, _ := moments(overall[s.From:])
	s.Share = 1/late - 1 // the whole's mean is 1
	return s, true
}

// truncation is the first place from which the rest of a series has nearly the least squared standard error, up to
// its middle.
func truncation(series []float64) int {
	var squared []float64
	least := math.Inf(1)
	for d := 0; d <= len(series)/2; d++ {
		_, deviation := moments(series[d:])
		squared = append(squared, deviation*deviation/float64(len(series)-d))
		least = math.Min(least, squared[d])
	}
	for d, s := range squared {
		if s <= nearlyLeast*least+math.SmallestNonzeroFloat64 {
			return d
		}
	}
	return 0
}
