package stats

import (
	"math"

	"windtunnel/result"
)

// Mean is the arithmetic mean of the samples, with bounds from MinimumBlocks
// samples on. Where every sample is positive the bounds are a factor up and down,
// taken from the spread of the logarithms (the delta method), so the lower one
// never reaches zero.
func Mean(samples []float64) result.Figure {
	if len(samples) == 0 {
		return result.Missing("no trial has it")
	}
	mean, reach := around(samples, alone)
	f := result.Figure{Mean: mean, N: len(samples)}
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return result.Missing("not a finite number")
	}
	if math.IsInf(reach, 1) {
		return f
	}
	low, high := mean-reach, mean+reach
	if logs := logarithms(samples); logs != nil {
		_, reach = around(logs, alone)
		low, high = mean*math.Exp(-reach), mean*math.Exp(reach)
	}
	f.Low, f.High = &low, &high
	return f
}

// logarithms is nil unless every sample is positive.
func logarithms(samples []float64) []float64 {
	logs := make([]float64, len(samples))
	for i, x := range samples {
		if x <= 0 {
			return nil
		}
		logs[i] = math.Log(x)
	}
	return logs
}
