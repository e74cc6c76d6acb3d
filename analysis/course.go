package analysis

import (
	"slices"

	"windtunnel/result"
)

// Moment is one trial of a cell in the course of the run, also one that does not count.
type Moment struct {
	Block    int
	Seconds  float64            // from the run's beginning to the trial's
	Excluded string             // why it does not count; empty: it does
	Pace     float64            // in the unit of the cell's Pace
	Known    bool               // whether there is a pace
	Slowest  float64            // the pace of the window's slowest part (result.Interval), of trials with Parts
	Fastest  float64            // and of its fastest
	Parts    int                // how many parts those are of; 0: the trial has none that can be told
	CPU      map[string]float64 // percent of all the CPUs of a node; nodes whose CPUs were not sampled are absent
}

// Pace is the metric that tells what the cell's load did: requests a second where requests were answered, packets where
// there is no rate of bits that means something, else received bits.
func (c Cell) Pace() result.Metric {
	switch {
	case c.Latencies():
		return result.TransactionRate
	case c.Framed():
		return result.ReceivedPacketRate
	}
	return result.ReceivedRate
}

// course is every trial of the cell that was recorded, in the order of time.
func (c Cell) course(trials []result.Trial, nodes []result.RunNode) []Moment {
	moments := make([]Moment, 0, len(trials))
	for _, t := range trials {
		m := Moment{Block: t.Block, Seconds: t.ElapsedSeconds, Excluded: t.Excluded, CPU: map[string]float64{}}
		if v, err := c.Spec.Value(t, c.Pace()); err == nil {
			m.Pace, m.Known = v, true
			m.Slowest, m.Fastest, m.Parts = extremes(t, c.Pace())
		}
		for _, n := range nodes {
			if v, err := c.Spec.Value(t, result.CPUPercent(n.Name)); err == nil {
				m.CPU[n.Name] = v
			}
		}
		moments = append(moments, m)
	}
	slices.SortStableFunc(moments, func(a, b Moment) int {
		switch {
		case a.Seconds < b.Seconds:
			return -1
		case a.Seconds > b.Seconds:
			return 1
		}
		return a.Block - b.Block
	})
	return moments
}

// extremes are those of the parts of a trial's window, all receivers together. Their parts are taken to be the same ones where there are
// as many of them: ends cut their time at the same points, to within a sample of theirs.
func extremes(t result.Trial, m result.Metric) (slowest, fastest float64, parts int) {
	var sums []float64
	for _, p := range t.Pairs {
		for _, end := range p.Receivers() {
			rates := partRates(end, m)
			if len(rates) == 0 || sums != nil && len(rates) != len(sums) {
				return 0, 0, 0
			}
			if sums == nil {
				sums = make([]float64, len(rates))
			}
			for i, r := range rates {
				sums[i] += r
			}
		}
	}
	if len(sums) == 0 {
		return 0, 0, 0
	}
	return slices.Min(sums), slices.Max(sums), len(sums)
}

// leastPart is how long a part must be to have a pace of its own, as a share of the longest: the last one may be a rest.
const leastPart = 0.5

// partRates are the paces of the window's parts; nil for a metric that parts do not have.
func partRates(end result.PairEnd, m result.Metric) []float64 {
	longest := 0.0
	for _, part := range end.Intervals {
		longest = max(longest, part.To-part.From)
	}
	var rates []float64
	for _, part := range end.Intervals {
		seconds := part.To - part.From
		if part.From < 0 || !(seconds > 0) || seconds < leastPart*longest {
			continue
		}
		switch m {
		case result.ReceivedRate:
			rates = append(rates, float64(part.Bytes)*8/seconds)
		case result.ReceivedPacketRate:
			rates = append(rates, float64(part.Packets)/seconds)
		}
	}
	return rates
}
