package report

import (
	"fmt"

	"windtunnel/analysis"
	"windtunnel/result"
)

// latencyPlot is how long requests took, from the median to the longest.
var latencyPlot = plot{name: "latency", heading: "Latency, from the median to the longest", after: latencyHeading, draw: drawLatency}

// quantileMarks are the series of the quantiles, in the order of analysis.Quantiles.
var quantileMarks = []string{"s1", "s6", "s5", "s2", "s4"}

// timings are the latencies of one row.
type timings struct {
	name, says string
	of         func(quantile string) result.Figure
}

func drawLatency(f analysis.Findings) []chart {
	all := timingsOf(f)
	shown, notes := firstRows(all, "rows")
	var values []float64
	var rows []chartRow
	for _, t := range shown {
		for _, q := range analysis.Quantiles {
			if v := t.of(q); v.Known() && v.Mean > 0 {
				values = append(values, v.Mean*1e6)
			}
		}
		rows = append(rows, chartRow{t.name, t.says, micros(t.of("p50")) + " / " + micros(t.of("p99"))})
	}
	if len(values) == 0 {
		return nil
	}
	var legend []legendKey
	for i, q := range analysis.Quantiles {
		legend = append(legend, legendKey{q, func(d *drawing, x, y float64) { d.series(quantileMarks[i], []mark{{point{x, y}, true}}) }})
	}
	c := newRowChart(rows, spanScale(values), "µs from the intended time (logarithmic); at the right p50 / p99", legend...)
	for i, t := range shown {
		c.quantiles(i, t)
	}
	return []chart{{says: "The mean over the trials of each quantile of the time that a request took, from when it was meant to leave.",
		picture: c.drawing, figures: latencyFigures(all), notes: notes}}
}

func timingsOf(f analysis.Findings) []timings {
	var all []timings
	for _, c := range f.Cells {
		if c.Latencies() {
			all = append(all, timings{c.Spec.Name, c.Spec.Says, func(q string) result.Figure { return c.Figure(result.Latency(result.LatencyIntended, q)) }})
		}
		if c.LatencyBeside() {
			all = append(all, timings{c.Spec.Name + " (beside)", c.Spec.Says, func(q string) result.Figure { return c.Figure(result.BesideLatency(q)) }})
		}
	}
	return all
}

// spanScale is logarithmic from the least of the values to the most.
func spanScale(values []float64) scale {
	s := scale{from: values[0], to: values[0], log: true}
	for _, v := range values {
		s.from, s.to = min(s.from, v), max(s.to, v)
	}
	s.from, s.to = s.from/1.3, s.to*1.3
	return s
}

func (c rowChart) quantiles(row int, t timings) {
	var ends []point
	for _, q := range analysis.Quantiles {
		if v := t.of(q); v.Known() && v.Mean > 0 {
			ends = append(ends, point{c.at(v.Mean * 1e6), c.y(row)})
		}
	}
	c.polyline("s7 stroke thin light", ends)
	for i, q := range analysis.Quantiles {
		if v := t.of(q); v.Known() && v.Mean > 0 {
			c.tip(fmt.Sprintf("%s %s: %s µs", t.name, q, micros(v)), func() { c.circle(quantileMarks[i]+" fill", c.at(v.Mean*1e6), c.y(row), 4.5) })
		}
	}
}

func latencyFigures(all []timings) *table {
	t := &table{columns: []column{{name: "cell", text: true}}}
	for _, q := range analysis.Quantiles {
		t.columns = append(t.columns, column{"µs", q, false})
	}
	for _, one := range all {
		row := []string{one.name}
		for _, q := range analysis.Quantiles {
			row = append(row, micros(one.of(q)))
		}
		t.rows = append(t.rows, row)
	}
	return t
}
