package report

import (
	"fmt"

	"windtunnel/analysis"
	"windtunnel/result"
)

// ratesPlot is what each cell carried, with its interval, and what was published. Cells whose loads are told in
// different units have pictures of their own.
var ratesPlot = plot{name: "rates", heading: "What each cell carried", after: throughputHeading, draw: drawRates}

// paces are the metrics by which loads are told, and how a picture writes them.
var paces = []struct {
	metric result.Metric
	unit   string
	scale  float64 // of the unit, in the metric's
	of     string  // what is counted so
}{
	{result.ReceivedRate, "Mbit/s", 1e6, "received"},
	{result.ReceivedPacketRate, "kpackets/s", 1e3, "received"},
	{result.TransactionRate, "requests/s", 1, "answered"},
}

func drawRates(f analysis.Findings) []chart {
	var charts []chart
	for _, pace := range paces {
		var cells []analysis.Cell
		for _, c := range f.Cells {
			_, published := c.Spec.Published[pace.metric]
			if c.Pace() == pace.metric && (c.Figure(pace.metric).Known() || published) {
				cells = append(cells, c)
			}
		}
		if len(cells) > 0 {
			charts = append(charts, drawPace(cells, pace.metric, pace.unit+" "+pace.of, pace.scale))
		}
	}
	return charts
}

func drawPace(cells []analysis.Cell, m result.Metric, unit string, unitScale float64) chart {
	shown, notes := firstRows(cells, "cells")
	var rows []chartRow
	most, published := 0.0, false
	for _, c := range shown {
		figure := "not measured"
		if v := c.Figure(m); v.Known() {
			figure = rate(v.Mean / unitScale)
			most = max(most, v.Mean)
			if v.High != nil {
				most = max(most, min(*v.High, 2*v.Mean))
			}
		}
		if v, ok := c.Spec.Published[m]; ok {
			most, published = max(most, v), true
		}
		rows = append(rows, chartRow{c.Spec.Name, c.Spec.Says, figure})
	}
	chart := newRowChart(rows, linearScale(most/unitScale), unit, rateLegend(published)...)
	for i, c := range shown {
		chart.rate(i, c.Figure(m), c.Spec.Published[m], unitScale)
	}
	says := "The mean of each cell's trials, with the interval of that mean."
	if published {
		says += " Diamonds are published figures, of another machine."
	}
	return chartOf(chart.drawing, unit, says, paceFigures(cells, m, unit, unitScale), notes)
}

// chartOf puts a chart together.
func chartOf(d *drawing, of, says string, figures *table, notes []string) chart {
	return chart{of: of, says: says, picture: d, figures: figures, notes: notes}
}

func (c rowChart) rate(row int, v result.Figure, published, unitScale float64) {
	if v.Known() {
		c.bar("s1 fill light", row, 0, v.Mean/unitScale, 18)
		c.interval("s1 stroke", row, divided(v.Low, unitScale), divided(v.High, unitScale))
		c.drawing.line("s1 stroke", c.at(v.Mean/unitScale), c.y(row)-9, c.at(v.Mean/unitScale), c.y(row)+9)
	}
	if published > 0 {
		c.diamond("published hollow", c.at(published/unitScale), c.y(row), 6)
	}
}

func divided(v *float64, by float64) *float64 {
	if v == nil {
		return nil
	}
	quotient := *v / by
	return &quotient
}

func rateLegend(published bool) []legendKey {
	keys := []legendKey{{"mean and its interval", func(d *drawing, x, y float64) {
		d.rect("s1 fill light", x-6, y-5, 10, 10)
		d.line("s1 stroke", x+4, y-5, x+4, y+5)
	}}}
	if published {
		keys = append(keys, legendKey{"published", func(d *drawing, x, y float64) { d.diamond("published hollow", x, y, 6) }})
	}
	return keys
}

func paceFigures(cells []analysis.Cell, m result.Metric, unit string, unitScale float64) *table {
	t := &table{columns: []column{
		{name: "cell", text: true}, {unit, "mean", false}, {unit, "low", false}, {unit, "high", false}, {name: "trials"}, {name: "published"},
	}}
	for _, c := range cells {
		row := []string{c.Spec.Name, dash, dash, dash, fmt.Sprint(c.Trials), dash}
		if v := c.Figure(m); v.Known() {
			row[1] = rate(v.Mean / unitScale)
			if v.Low != nil && v.High != nil {
				row[2], row[3] = rate(*v.Low/unitScale), rate(*v.High/unitScale)
			}
		}
		if v, ok := c.Spec.Published[m]; ok {
			row[5] = rate(v / unitScale)
		}
		t.rows = append(t.rows, row)
	}
	return t
}
