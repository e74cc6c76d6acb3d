package report

import (
	"fmt"
	"strings"

	"windtunnel/analysis"
)

// ratiosPlot is each ratio with its interval, and the published one beside it.
var ratiosPlot = plot{name: "ratios", heading: "Ratios and their intervals", after: answersHeading, draw: drawRatios}

func drawRatios(f analysis.Findings) []chart {
	var known []analysis.Ratio
	var values []float64
	published := false
	for _, r := range f.Ratios {
		if r.Estimate.Known() || r.Published != nil {
			known = append(known, r)
			published = published || r.Published != nil
		}
	}
	shown, notes := firstRows(known, "ratios")
	var rows []chartRow
	for _, r := range shown {
		rows = append(rows, chartRow{r.Ratio.Short(), says(f, r.Ratio.Over) + " / " + says(f, r.Ratio.Under), ratioWithBounds(r)})
		values = append(values, ratioValues(r)...)
	}
	if len(rows) == 0 {
		return nil
	}
	c := newRowChart(rows, logScale(values...), "ratio (logarithmic: half and twice are as far from 1)", ratioLegend(published)...)
	c.drawing.line("axis", c.at(1), c.y(0)-rowStep/2, c.at(1), c.y(len(rows)-1)+rowStep/2)
	for i, r := range shown {
		c.ratio(i, r)
	}
	return []chart{{says: ratiosSay(published), picture: c.drawing, figures: ratioFigures(known), notes: notes}}
}

// ratioValues are those that the scale has to hold: bounds only up to ten times what is between them, or one ratio that
// is hardly known would flatten all others.
func ratioValues(r analysis.Ratio) []float64 {
	var values []float64
	if r.Published != nil {
		values = append(values, *r.Published)
	}
	e := r.Estimate
	if e.Known() {
		values = append(values, e.Estimate)
	}
	if e.Bounded() {
		values = append(values, max(*e.Low, e.Estimate/10), min(*e.High, e.Estimate*10))
	}
	return values
}

func (c rowChart) ratio(row int, r analysis.Ratio) {
	if r.Published != nil {
		c.diamond("published hollow", c.at(*r.Published), c.y(row), 6)
	}
	e := r.Estimate
	if !e.Known() {
		return
	}
	c.tip(r.Ratio.Short()+": "+r.Verdict, func() {
		c.interval("s1 stroke", row, e.Low, e.High)
		if e.Differs() {
			c.circle("s1 fill", c.at(e.Estimate), c.y(row), 5)
		} else {
			c.circle("s1 hollow", c.at(e.Estimate), c.y(row), 5)
		}
	})
}

func ratioLegend(published bool) []legendKey {
	keys := []legendKey{
		{"a difference, with its interval", func(d *drawing, x, y float64) { d.circle("s1 fill", x, y, 5) }},
		{"no difference can be told", func(d *drawing, x, y float64) { d.circle("s1 hollow", x, y, 5) }},
	}
	if published {
		keys = append(keys, legendKey{"published", func(d *drawing, x, y float64) { d.diamond("published hollow", x, y, 6) }})
	}
	return keys
}

func ratiosSay(published bool) string {
	text := "Each ratio of this run and its interval, which stays valid however long one looks. Where it lies on both sides of 1, no difference can be told."
	if published {
		text += " Diamonds are the ratios of the published figures."
	}
	return text
}

func ratioFigures(all []analysis.Ratio) *table {
	t := &table{columns: []column{{name: "ratio", text: true}, {name: "estimate"}, {name: "low"}, {name: "high"}, {name: "blocks"}, {name: "published"}}}
	for _, r := range all {
		e := r.Estimate
		row := []string{r.Ratio.Short(), dash, dash, dash, fmt.Sprint(e.N), dash}
		if e.Known() {
			row[1] = ratioNumber(e.Estimate)
		}
		if e.Low != nil {
			row[2] = ratioNumber(*e.Low)
		}
		if e.High != nil {
			row[3] = ratioNumber(*e.High)
		}
		if e.OneSided() {
			row[1] = dash
		}
		if r.Published != nil {
			row[5] = ratioNumber(*r.Published)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// ratioWithBounds is the estimate as its sentence has it, without the number of blocks.
func ratioWithBounds(r analysis.Ratio) string {
	e := r.Estimate
	switch {
	case !e.Known():
		return "not measured"
	case !e.Bounded() && !e.OneSided():
		return ratioNumber(e.Estimate) + ", no bounds"
	}
	text, _, _ := strings.Cut(e.String(), " n=")
	return text
}

func ratioNumber(v float64) string { return fmt.Sprintf("%.3g", v) }
