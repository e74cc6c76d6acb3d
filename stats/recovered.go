package stats

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// Recovered is what a change gives back of the gap B/A, as a share of it. Gap are B/A's blocks, over those of the
// changed B against B, and under those of the changed A against A, nil where one was left alone; the blocks that all
// have are taken. In logarithms, by block, the gap is log A - log B, and what the change gives is what it adds to B more
// than to A.
//
// The share of the two has bounds as Share has them. Family is how many claims there are of one gap, its own included. Nothing
// is claimed of a gap that is not distinguishable from none.
func Recovered(gap, over, under []Block, family Family) result.Figure {
	given, missing, reason := givenBack(gap, over, under)
	n := len(given)
	if reason != "" {
		return result.Missing(reason)
	}
	if n < MinimumBlocks {
		return result.Missing(fmt.Sprintf("%d of at least %d blocks", n, MinimumBlocks))
	}
	if !Ratio(gap).Differs() {
		return result.Missing("the gap itself is not distinguishable from none")
	}
	return shareAmong(given, missing, family)
}

// givenBack pairs the blocks: what the change gives, and the gap.
func givenBack(gap, over, under []Block) (given, missing []float64, reason string) {
	overs, unders := byNumber(over), byNumber(under)
	for _, b := range gap {
		o, haveOver := overs[b.Number]
		u, haveUnder := unders[b.Number]
		if over != nil && !haveOver || under != nil && !haveUnder {
			continue
		}
		y := math.Log(b.Under / b.Over)
		x := o - u
		if math.IsNaN(x-y) || math.IsInf(x-y, 0) {
			return nil, nil, fmt.Sprintf("block %d has a figure that is not positive", b.Number)
		}
		given, missing = append(given, x), append(missing, y)
	}
	if len(given) == 0 {
		return nil, nil, "no block has all of the cells"
	}
	return given, missing, ""
}

// byNumber are the logarithms of blocks' ratios by their numbers.
func byNumber(blocks []Block) map[int]float64 {
	logs := map[int]float64{}
	for _, b := range blocks {
		logs[b.Number] = math.Log(b.Over / b.Under)
	}
	return logs
}
