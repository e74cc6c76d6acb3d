package stats

import (
	"fmt"
	"math"
	"strconv"
)

// Words are how a metric's differences read: "slower", "faster" and "as fast".
type Words struct {
	Less string
	More string
	As   string // after "2.3 times"
}

// Verdict is the estimate in words: "6.1 % slower [4.8, 7.4]", "2.31 times as fast
// [2.20, 2.42]", "not distinguishable: less than 2.1 % apart", or why there is none.
func Verdict(e Estimate, w Words) string {
	switch {
	case !e.Known():
		return "no ratio: " + e.Reason
	case e.OneSided():
		return oneSided(e, w)
	case !e.Bounded() && e.N >= MinimumBlocks:
		return Change(e.Estimate, w) + ", without bounds: the blocks differ too much"
	case !e.Bounded():
		return fmt.Sprintf("%s, without bounds: %d of at least %d blocks", Change(e.Estimate, w), e.N, MinimumBlocks)
	case !e.Differs():
		return "not distinguishable: less than " + apart(e) + " apart"
	}
	return change(e.Estimate, w, reach(e)) + " " + bounds(e)
}

// oneSided says a ratio of which one bound is known.
func oneSided(e Estimate, w Words) string {
	if !e.Differs() {
		return "not distinguishable: " + change(e.Estimate, w, 0) + " at most"
	}
	return change(e.Estimate, w, 0) + " or more"
}

// apart is the largest difference from 1 that the interval leaves open, rounded up, since less than that is claimed; from
// a factor of 2 on, in either direction, as a factor.
func apart(e Estimate) string {
	if factor := math.Max(*e.High, 1 / *e.Low); factor >= 2 {
		return "a factor of " + upwards(factor)
	}
	return upwards(100*math.Max(1-*e.Low, *e.High-1)) + " %"
}

// upwards rounds up: to a tenth under 10, to a whole number, or to two digits where those say little.
func upwards(x float64) string {
	const exact = 1e-9 // what is on a step but for the machine's arithmetic
	unit, format, digits := 0.1, byte('f'), 1
	switch {
	case x > 1e6:
		unit, format, digits = math.Pow(10, math.Floor(math.Log10(x))-1), 'g', 2
	case x > 9.9+exact:
		unit, digits = 1, 0
	}
	return strconv.FormatFloat(math.Max(1, math.Ceil(x/unit-exact))*unit, format, digits, 64)
}

// reach is half the distance between the bounds.
func reach(e Estimate) float64 { return (*e.High - *e.Low) / 2 }

// Change says a ratio as a difference; from a factor of 2 up, as a factor.
func Change(ratio float64, w Words) string { return change(ratio, w, 0) }

// fraction is under which ratio a difference is said as a factor, too: in whole per cent it would be 100 % less, which is
// nothing at all.
const fraction = 0.005

// asFactor tells whether a ratio is said as a factor.
func asFactor(ratio float64) bool { return ratio >= 2 || ratio > 0 && ratio < fraction }

// change shows as many decimals as a reach to either bound makes sense of; 0 is an
// unknown one.
func change(ratio float64, w Words, reach float64) string {
	switch {
	case asFactor(ratio):
		return number(ratio, reach) + " times " + w.As
	case ratio >= 1:
		return percent(ratio-1, reach) + " % " + w.More
	}
	return less(ratio, reach) + " % " + w.Less
}

// bounds are in the same unit and direction as change.
func bounds(e Estimate) string {
	low, high, r := *e.Low, *e.High, reach(e)
	switch {
	case asFactor(e.Estimate):
		return "[" + number(low, r) + ", " + number(high, r) + "]"
	case e.Estimate >= 1:
		return "[" + percent(low-1, r) + ", " + percent(high-1, r) + "]"
	}
	return "[" + less(high, r) + ", " + less(low, r) + "]"
}

// String is the ratio on one line: "0.41 [0.38, 0.44] n=5".
func (e Estimate) String() string {
	switch {
	case !e.Known():
		return e.Reason
	case e.OneSided() && e.Low != nil:
		return fmt.Sprintf(">= %s n=%d", number(e.Estimate, 0), e.N)
	case e.OneSided():
		return fmt.Sprintf("<= %s n=%d", number(e.Estimate, 0), e.N)
	case !e.Bounded():
		return fmt.Sprintf("%s n=%d", number(e.Estimate, 0), e.N)
	}
	r := reach(e)
	return fmt.Sprintf("%s [%s, %s] n=%d", number(e.Estimate, r), number(*e.Low, r), number(*e.High, r), e.N)
}

// number has two decimals, one more for a reach under 0.01 and two for one under
// 0.001, or three significant digits where decimals say little.
func number(x, reach float64) string {
	if math.Abs(x) >= 0.1 && math.Abs(x) < 100 {
		return strconv.FormatFloat(x, 'f', 2+finer(reach, 0.01), 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// less is a ratio under 1 as what is missing of it, with a decimal where next to nothing is left.
func less(ratio, reach float64) string {
	if left := ratio * 100; left > 0 && left < 1.05 && finer(reach, 0.01) == 0 {
		return strconv.FormatFloat(100-left, 'f', 1, 64)
	}
	return percent(1-ratio, reach)
}

// percent has one decimal under 10 and none above, and more for a narrow reach.
func percent(share, reach float64) string {
	digits := finer(reach, 0.01)
	if p := share * 100; digits == 0 && math.Abs(p) < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(share*100, 'f', digits, 64)
}

// finer is the number of decimals to add where the reach is under the unit that
// the last decimal shows: 0, 1 or 2.
func finer(reach, unit float64) int {
	switch {
	case reach <= 0 || reach >= unit:
		return 0
	case reach >= unit/10:
		return 1
	}
	return 2
}
