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
// [2.2, 2.4]", "not distinguishable: less than 2.1 % apart", or why there is none.
func Verdict(e Estimate, w Words) string {
	switch {
	case !e.Known():
		return "no ratio: " + e.Reason
	case !e.Bounded() && e.N >= MinimumBlocks:
		return Change(e.Estimate, w) + ", without bounds: the blocks differ too much"
	case !e.Bounded():
		return fmt.Sprintf("%s, without bounds: %d of at least %d blocks", Change(e.Estimate, w), e.N, MinimumBlocks)
	case !e.Differs():
		return "not distinguishable: less than " + percent(apart(e)) + " % apart"
	}
	return Change(e.Estimate, w) + " " + bounds(e)
}

// apart is the largest difference from 1 that the interval leaves open.
func apart(e Estimate) float64 { return math.Max(1-*e.Low, *e.High-1) }

// Change says a ratio as a difference; from a factor of 2 up, as a factor.
func Change(ratio float64, w Words) string {
	switch {
	case ratio >= 2:
		return number(ratio) + " times " + w.As
	case ratio >= 1:
		return percent(ratio-1) + " % " + w.More
	}
	return percent(1-ratio) + " % " + w.Less
}

// bounds are in the same unit and direction as Change.
func bounds(e Estimate) string {
	low, high := *e.Low, *e.High
	switch {
	case e.Estimate >= 2:
		return "[" + number(low) + ", " + number(high) + "]"
	case e.Estimate >= 1:
		return "[" + percent(low-1) + ", " + percent(high-1) + "]"
	}
	return "[" + percent(1-high) + ", " + percent(1-low) + "]"
}

// String is the ratio on one line: "0.41 [0.38, 0.44] n=5".
func (e Estimate) String() string {
	switch {
	case !e.Known():
		return e.Reason
	case !e.Bounded():
		return fmt.Sprintf("%s n=%d", number(e.Estimate), e.N)
	}
	return fmt.Sprintf("%s [%s, %s] n=%d", number(e.Estimate), number(*e.Low), number(*e.High), e.N)
}

// number has two decimals, or three significant digits where those say less.
func number(x float64) string {
	if math.Abs(x) >= 0.1 && math.Abs(x) < 100 {
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// percent has one decimal under 10 and none above.
func percent(share float64) string {
	p := share * 100
	if math.Abs(p) < 9.95 {
		return strconv.FormatFloat(p, 'f', 1, 64)
	}
	return strconv.FormatFloat(p, 'f', 0, 64)
}
