package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
	"windtunnel/stats"
)

// steadyDoubt tells of a window that began before the cell's rate was steady.
func steadyDoubt(c Cell, trials []result.Trial) (result.Doubt, bool) {
	var series [][]float64
	length := 0.0
	for _, t := range trials {
		if rates, step := overTime(t); rates != nil {
			series, length = append(series, rates), step
		}
	}
	s, ok := stats.SteadyState(series)
	if !ok || !s.Matters() {
		return result.Doubt{}, false
	}
	says := fmt.Sprintf("in the first %.1f s of the window its rate is %s than in the rest, which makes the whole's %s: ",
		float64(s.From)*length, stats.Verdict(s.Early, stats.Words{Less: "lower", More: "higher", As: "as high"}), byHowMuch(s.Share))
	if s.Ended {
		return result.Doubt{Cell: c.Spec.Name, Kind: "unsteady", Says: says + "it does not settle within the window; give a longer --window"}, true
	}
	return result.Doubt{Cell: c.Spec.Name, Kind: "warm-up", Says: says + "the warm-up is too short for it; a longer --window has a longer one"}, true
}

func byHowMuch(share float64) string {
	if share < 0 {
		return percent(-share) + " too low"
	}
	return percent(share) + " too high"
}

// leastTold is the share of a window's bytes that its intervals have to have between them, or they are none of its
// rate over time: some counters tell only at the end.
const leastTold = 0.9

// overTime are the bytes a second that a trial's receivers had, by interval of the window, and an interval's length in
// seconds. nil where some end does not tell, and where a cable was pulled, after which no rate is steady.
func overTime(t result.Trial) (rates []float64, length float64) {
	if len(t.Pulled()) > 0 {
		return nil, 0
	}
	for _, pair := range t.Pairs {
		for _, end := range pair.Receivers() {
			one, told := []float64(nil), 0.0
			for _, i := range end.Intervals {
				if seconds := i.To - i.From; i.From > -seconds/2 && seconds > 0 {
					one, told = append(one, float64(i.Bytes)/seconds), told+float64(i.Bytes)
					length = math.Max(length, seconds)
				}
			}
			if told < leastTold*float64(end.Bytes) || len(one) == 0 {
				return nil, 0
			}
			if rates == nil {
				rates = make([]float64, len(one))
			}
			rates = rates[:min(len(rates), len(one))]
			for i := range rates {
				rates[i] += one[i]
			}
		}
	}
	return rates, length
}
