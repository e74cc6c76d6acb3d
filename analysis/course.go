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
	Paces    []Part             // the pace within the window (result.Interval), in the order of time; none where that cannot be told
	Slowest  float64            // the pace of the slowest of those parts
	Fastest  float64            // and of the fastest
	CPUs     map[string][]Part  // the same of CPU, where the run recorded it
	CPU      map[string]float64 // percent of all the CPUs of a node; nodes whose CPUs were not sampled are absent
}

// Part is what a part of a trial's window had, in seconds since the window began.
type Part struct{ From, To, Value float64 }

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
		m := Moment{Block: t.Block, Seconds: t.ElapsedSeconds, Excluded: t.Excluded, CPU: map[string]float64{}, CPUs: map[string][]Part{}}
		if v, err := c.Spec.Value(t, c.Pace()); err == nil {
			m.Pace, m.Known = v, true
			m.Paces = parts(t, c.Pace())
			m.Slowest, m.Fastest = Extremes(m.Paces)
		}
		for _, n := range nodes {
			if v, err := c.Spec.Value(t, result.CPUPercent(n.Name)); err == nil {
				m.CPU[n.Name] = v
			}
			if series := cpuParts(t.Nodes[n.Name]); len(series) > 0 {
				m.CPUs[n.Name] = series
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

// parts are those of a trial's window, all receivers together. Their parts are taken to be the same ones where there are as many
// of them: ends cut their time at the same points, to within a sample of theirs.
func parts(t result.Trial, m result.Metric) []Part {
	var sums []Part
	for _, p := range t.Pairs {
		for _, end := range p.Receivers() {
			own := partsOf(end, m)
			if len(own) == 0 || sums != nil && len(own) != len(sums) {
				return nil
			}
			if sums == nil {
				sums = own
				continue
			}
			for i, part := range own {
				sums[i].Value += part.Value
			}
		}
	}
	return sums
}

// Extremes are the least and the most of the parts' values; 0 of none.
func Extremes(series []Part) (least, most float64) {
	for i, part := range series {
		if i == 0 {
			least, most = part.Value, part.Value
		}
		least, most = min(least, part.Value), max(most, part.Value)
	}
	return least, most
}

// cpuParts are how busy a node's CPUs were within the window, in percent of all of them.
func cpuParts(s result.NodeSample) []Part {
	var series []Part
	for _, interval := range s.Intervals {
		sum := 0.0
		for _, busy := range interval.Busy {
			sum += busy
		}
		if len(interval.Busy) > 0 {
			series = append(series, Part{interval.From, interval.To, 100 * sum / float64(len(interval.Busy))})
		}
	}
	return series
}

// leastPart is how long a part must be to have a pace of its own, as a share of the longest: the last one may be a rest.
const leastPart = 0.5

// partsOf are the paces of the window's parts at one end; nil for a metric that parts do not have.
func partsOf(end result.PairEnd, m result.Metric) []Part {
	longest := 0.0
	for _, part := range end.Intervals {
		longest = max(longest, part.To-part.From)
	}
	var series []Part
	for _, part := range end.Intervals {
		seconds := part.To - part.From
		if part.From < 0 || !(seconds > 0) || seconds < leastPart*longest {
			continue
		}
		switch m {
		case result.ReceivedRate:
			series = append(series, Part{part.From, part.To, float64(part.Bytes) * 8 / seconds})
		case result.ReceivedPacketRate:
			series = append(series, Part{part.From, part.To, float64(part.Packets) / seconds})
		}
	}
	return series
}
