package stats

import (
	"math"

	"windtunnel/result"
)

// Difference is the mean of over minus under, which are paired by block, with bounds from MinimumBlocks pairs on. It
// may be of either sign, or of both, so its bounds are those of the differences themselves (see interval.go).
func Difference(over, under []float64) result.Figure {
	differences := make([]float64, min(len(over), len(under)))
	for i := range differences {
		differences[i] = over[i] - under[i]
	}
	if len(differences) == 0 {
		return result.Missing("no block has both cells")
	}
	mean, reach := around(differences, alone)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return result.Missing("not a finite number")
	}
	f := result.Figure{Mean: mean, N: len(differences)}
	if !math.IsInf(reach, 1) {
		low, high := mean-reach, mean+reach
		f.Low, f.High = &low, &high
	}
	return f
}
