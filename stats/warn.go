package stats

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Warning is a reason to trust a set of samples less.
type Warning struct {
	Kind string // few-blocks, bimodal, drift, outlier, order, scatter
	Says string // without a subject: "5 samples fall in two groups"
	At   []int  // the samples that it is about, from 0; empty: all of them
}

// The thresholds below are set so that fewer than 1 in 50 sets of 8 to 30 plain
// Gaussian samples gets a warning of a kind; the tests measure it.
const (
	minimumForShape   = 8   // samples, for a warning about the shape of them
	outlierDeviations = 7   // robust standard deviations from the median
	driftDeviations   = 2.9 // standard deviations of the trend's score
	gapWidths         = 1.5 // widths of the wider of two groups, that lie between them
	mostSlopes        = 300 // samples, between which slopes are taken
)

// Warnings looks at samples in the order in which they were taken.
func Warnings(samples []float64) []Warning {
	var all []Warning
	if n := len(samples); n > 0 && n < MinimumBlocks {
		all = append(all, Warning{Kind: "few-blocks", Says: fmt.Sprintf("%d of at least %d samples: no bounds", n, MinimumBlocks)})
	}
	if len(samples) < minimumForShape {
		return all
	}
	if low, high, ok := twoGroups(samples); ok {
		all = append(all, Warning{Kind: "bimodal", Says: fmt.Sprintf("the samples fall in two groups, %d about %s and %d about %s", len(low), digits(median(low)), len(high), digits(median(high)))})
	} else if at := outliers(samples); len(at) > 0 {
		all = append(all, Warning{Kind: "outlier", Says: farOff(samples, at), At: at})
	}
	if drifting(samples) {
		n := float64(len(samples) - 1)
		from := median(samples) - slope(samples)*n/2 // the line through the middle
		all = append(all, Warning{Kind: "drift", Says: fmt.Sprintf("the samples drift over the run, from about %s to about %s", digits(from), digits(from+slope(samples)*n))})
	}
	return all
}

// farOff names the samples that lie far off.
func farOff(samples []float64, at []int) string {
	if len(at) == 1 {
		return fmt.Sprintf("sample %d, %s, lies far from the others, about %s; it widens the bounds", at[0]+1, digits(samples[at[0]]), digits(median(samples)))
	}
	var names []string
	for _, i := range at {
		names = append(names, fmt.Sprintf("%d (%s)", i+1, digits(samples[i])))
	}
	return fmt.Sprintf("samples %s lie far from the others, about %s; they widen the bounds", strings.Join(names, ", "), digits(median(samples)))
}

// OrderWarning tells of blocks in which the same cell always came first: then an
// effect of the order looks like a difference of the cells.
func OrderWarning(blocks []Block) (Warning, bool) {
	for _, b := range blocks {
		if b.OverFirst == nil || *b.OverFirst != *blocks[0].OverFirst {
			return Warning{}, false
		}
	}
	if len(blocks) < MinimumBlocks {
		return Warning{}, false
	}
	return Warning{Kind: "order", Says: fmt.Sprintf("the same cell came first in all %d blocks, so an effect of the order would look like a difference", len(blocks))}, true
}

// doubtfulScatter is the relative standard deviation of trials from which
// something other than the path is likely to decide them: on a quiet machine it is
// under a tenth (the CNI data of 2024 have a median of 3 % and nine of ten under
// 11 %).
const doubtfulScatter = 0.2

// ScatterWarning tells of positive samples that scatter much, unless two groups
// explain it.
func ScatterWarning(samples []float64) (Warning, bool) {
	mean, deviation := moments(samples)
	if len(samples) >= minimumForShape {
		if _, _, grouped := twoGroups(samples); grouped {
			return Warning{}, false
		}
	}
	if len(samples) < MinimumBlocks || mean <= 0 || deviation < doubtfulScatter*mean {
		return Warning{}, false
	}
	return Warning{Kind: "scatter", Says: "the trials scatter by more than a fifth: was the machine busy with something else?"}, true
}

// twoGroups splits the sorted samples at their widest gap and reports whether
// both sides are groups: each has at least a fifth of the samples, 3 or more, and the gap is
// clearly wider than either. A single-linkage split, after the gap test for
// bimodality of Hartigan and Mohanty ("The RUNT test for multimodality", J. of Classification 9,
// 1992) with the groups' own width for a yardstick.
func twoGroups(samples []float64) (low, high []float64, ok bool) {
	s := sorted(samples)
	n := len(s)
	cut := 1
	for i := 2; i < n; i++ {
		if s[i]-s[i-1] > s[cut]-s[cut-1] {
			cut = i
		}
	}
	low, high = s[:cut], s[cut:]
	wide := math.Max(low[len(low)-1]-low[0], high[len(high)-1]-high[0])
	smaller := min(len(low), len(high))
	return low, high, smaller >= max(3, n/5) && high[0]-low[len(low)-1] > gapWidths*wide
}

// outliers are the samples that lie farther from the median than outlierDeviations of the
// median absolute deviation, scaled to Gaussian noise, in the order in which they were taken.
// Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993), with a wider
// limit than their 3.5, for few samples.
func outliers(samples []float64) (at []int) {
	middle, spread := median(samples), spreadOf(samples)
	for i, x := range samples {
		if spread > 0 && math.Abs(x-middle) > outlierDeviations*spread {
			at = append(at, i)
		}
	}
	return at
}

// spreadOf is the standard deviation that Gaussian samples with this median absolute deviation would have; 0 where
// there are none, or over half of them are the same.
func spreadOf(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	middle := median(samples)
	off := make([]float64, len(samples))
	for i, x := range samples {
		off[i] = math.Abs(x - middle)
	}
	return 1.4826 * median(off)
}

// drifting counts pairs in which the later sample is higher, against those in
// which it is lower. H. B. Mann, "Nonparametric tests against trend",
// Econometrica 13 (1945).
func drifting(samples []float64) bool {
	score := 0.0
	for i, x := range samples {
		for _, y := range samples[i+1:] {
			switch {
			case y > x:
				score++
			case y < x:
				score--
			}
		}
	}
	n := float64(len(samples))
	deviation := math.Sqrt(n * (n - 1) * (2*n + 5) / 18)
	return math.Abs(score)-1 > driftDeviations*deviation
}

// slope is the median slope between any two samples, by sample. P. K. Sen, "Estimates of the regression
// coefficient based on Kendall's tau", J. of the American Statistical Association 63 (1968). Of many samples it
// takes evenly spaced ones, so that the work stays small.
func slope(samples []float64) float64 {
	var slopes []float64
	step := 1 + len(samples)/mostSlopes
	for i := 0; i < len(samples); i += step {
		for j := i + 1; j < len(samples); j += step {
			slopes = append(slopes, (samples[j]-samples[i])/float64(j-i))
		}
	}
	return median(slopes)
}

// digits writes four significant digits, without an exponent where there is need
// of none.
func digits(x float64) string {
	if math.Abs(x) >= 1000 && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func sorted(samples []float64) []float64 {
	s := append([]float64(nil), samples...)
	sort.Float64s(s)
	return s
}

func median(samples []float64) float64 {
	s := sorted(samples)
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}
