package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// ChangePoint is where the level of a series changes for good.
type ChangePoint struct {
	Index  int     // of the first value of the new level
	Before float64 // the median from the change before this one, or the series' begin
	After  float64 // the median up to the next change, or the end
	Sure   float64 // 1 less the chance that values without a change look as much like one: at least 1 - falseAlarm
}

const (
	// falseAlarm is the chance that a series without a change is said to have one.
	falseAlarm = 0.02
	// shortestLevel is how many values make a level: one value alone is an outlier.
	shortestLevel = 2
	// permutations decide how fine Sure is: 0.0005.
	permutations = 1999
	// longestSeries bounds the work; of longer series the end is looked at.
	longestSeries = 2000
)

// NewLevel is how many of the last of n values have to be of a new level at the least, however clear it is, for it to be called a
// change: in fewer, too large a part of the orders of the same values puts these at one of the two ends. 0: of so few values none can be.
func NewLevel(n int) int {
	for k := shortestLevel; k <= n/2; k++ {
		orders := 1.0
		for i := range k {
			orders *= float64(n-i) / float64(i+1)
		}
		if 2/orders <= falseAlarm {
			return k
		}
	}
	return 0
}

// ChangePoints are the changes of level in a series, in order, such as the ratios of one
// suite's runs. Values that are no numbers are passed over, and Index counts them.
//
// Method: the largest split, a standardised difference of two means, of the series and of stretches of it (a
// level that comes and goes is seen in those, not in the whole) is a change where under falseAlarm of the
// orders of the same values have one as large; then the same in both parts. No distribution is
// assumed, only that values without a change could have come in any order. Spikes are taken
// out first, so that one cannot hide a change. Sources: Antoch and Hušková,
// "Permutation tests in change point analysis", Statistics & Probability Letters 53
// (2001); the halving and the tests in it, Matteson and James, "A nonparametric approach for
// multiple change point analysis of multivariate data", J. of the American Statistical Association 109 (2014),
// section 3; the stretches, Kovács, Bühlmann, Li and Munk, "Seeded binary segmentation", Biometrika 110 (2023).
func ChangePoints(series []float64) []ChangePoint {
	var values []float64
	var at []int // where they stand in the series
	for i, x := range series {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			values, at = append(values, x), append(at, i)
		}
	}
	if extra := len(values) - longestSeries; extra > 0 {
		values, at = values[extra:], at[extra:]
	}
	var splits []split
	findSplits(values, 0, &splits)
	slices.SortFunc(splits, func(a, b split) int { return a.at - b.at })
	var found []ChangePoint
	for i, s := range splits {
		begin, end := 0, len(values)
		if i > 0 {
			begin = splits[i-1].at
		}
		if i+1 < len(splits) {
			end = splits[i+1].at
		}
		found = append(found, ChangePoint{Index: at[s.at], Before: median(values[begin:s.at]), After: median(values[s.at:end]), Sure: 1 - s.chance})
	}
	return found
}

// split is a place in a series, and how likely a series without a change has one as large.
type split struct {
	at     int
	chance float64
}

// findSplits appends the splits of values, which begin at offset.
func findSplits(values []float64, offset int, found *[]split) {
	at, chance, ok := firstSplit(values)
	if !ok {
		return
	}
	*found = append(*found, split{offset + at, chance})
	findSplits(values[:at], offset, found)
	findSplits(values[at:], offset+at, found)
}

// firstSplit is the largest split of values, where few orders of them have one as large.
func firstSplit(values []float64) (at int, chance float64, ok bool) {
	drawn, all := drawnIn(values), stretches(len(values))
	at, size := largestSplit(drawn, all)
	if size <= 0 {
		return 0, 0, false
	}
	random := rand.New(rand.NewPCG(uint64(len(values)), 0xc4a9e)) // the same series, the same answer
	larger := 1                                                   // the order that was measured is one
	for range permutations {
		random.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
		if _, s := largestSplit(drawn, all); s >= size*(1-1e-9) {
			larger++
		}
		if float64(larger) > falseAlarm*(permutations+1) {
			return 0, 0, false
		}
	}
	return at, float64(larger) / (permutations + 1), true
}

// drawnIn are the values about their median, without spikes: a value that lies outlierDeviations off both of its
// neighbours, to the same side, is none of a level, and is put between them. All others are drawn in to as far from the
// median, where they differ from it as clearly.
func drawnIn(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	middle, reach := median(values), outlierDeviations*stepSpread(values)
	off := make([]float64, len(values))
	for i, x := range values {
		if i > 0 && i < len(values)-1 && reach > 0 {
			before, after := values[i-1], values[i+1]
			if x > max(before, after)+reach || x < min(before, after)-reach {
				x = (before + after) / 2
			}
		}
		off[i] = x - middle
		if reach > 0 {
			off[i] = min(max(off[i], -reach), reach)
		}
	}
	return off
}

// stepSpread is the standard deviation of the values about their levels, of which changes of level tell nothing: by the
// steps from one value to the next. Where most of these are none it is that about the median.
func stepSpread(values []float64) float64 {
	var steps []float64
	for i := 1; i < len(values); i++ {
		steps = append(steps, values[i]-values[i-1])
	}
	if s := spreadOf(steps); s > 0 {
		return s / math.Sqrt2
	}
	return spreadOf(values)
}

// stretch is a part of a series.
type stretch struct{ from, to int }

// stretches are the whole of a series and ever shorter parts of it, by a factor of the root of a half, which
// overlap by half.
func stretches(n int) []stretch {
	var all []stretch
	for length := float64(n); length >= 2*shortestLevel; length *= math.Sqrt2 / 2 {
		parts := max(1, int(math.Ceil(2*float64(n)/length))-1)
		for i := range parts {
			from := 0.0
			if parts > 1 {
				from = float64(i) * (float64(n) - length) / float64(parts-1)
			}
			all = append(all, stretch{int(from), min(n, int(math.Ceil(from+length)))})
		}
	}
	return all
}

// largestSplit is where the means of the two sides of a stretch differ most, in units of their error: of n values
// about any level, n/(t(n-t)) times the squared sum of the first t about their mean. The error of a single
// value is left out: it is the same for all orders of the values. size is 0 where there is none.
func largestSplit(values []float64, all []stretch) (at int, size float64) {
	sums := make([]float64, len(values)+1)
	for i, x := range values {
		sums[i+1] = sums[i] + x
	}
	for _, part := range all {
		n := float64(part.to - part.from)
		mean := (sums[part.to] - sums[part.from]) / n
		for i := part.from + shortestLevel; i <= part.to-shortestLevel; i++ {
			t := float64(i - part.from)
			off := sums[i] - sums[part.from] - mean*t
			if s := off * off * n / (t * (n - t)); s > size {
				at, size = i, s
			}
		}
	}
	return at, size
}
