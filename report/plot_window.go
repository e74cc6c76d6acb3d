package report

import (
	"fmt"
	"slices"

	"windtunnel/analysis"
)

// windowPlot is what happened within the trials' windows: whether they were steady, and whether the CPUs' use follows the pace.
var windowPlot = plot{name: "window", heading: "Within the windows", after: throughputHeading, draw: drawWindows}

// The measures of a window's strip: the pace at the left, the CPUs at the right.
const (
	windowPace, windowCPU = 430.0, 480.0
	windowHeight          = 58.0
	mostWindows           = 40 // lines in a strip
)

func drawWindows(f analysis.Findings) []chart {
	var cells []analysis.Cell
	longest := 0.0
	for _, c := range f.Cells {
		if end := windowEnd(c); end > 0 {
			cells = append(cells, c)
			longest = max(longest, end)
		}
	}
	if len(cells) == 0 {
		return nil
	}
	shown := cells[:min(len(cells), mostStrips)]
	var notes []string
	if len(shown) < len(cells) {
		notes = append(notes, fmt.Sprintf("The picture has the first %d of %d cells; the table has more.", len(shown), len(cells)))
	}
	if !slices.ContainsFunc(cells, hasCPUs) {
		notes = append(notes, "This run did not record its CPUs within the windows: only their use over whole windows is known.")
	}
	d := newDrawing(chartWidth, 0)
	top := d.legend(courseLegend(f)[:1+min(len(f.Run.Nodes), len(nodeMarks))])
	left := scale{from: 0, to: longest, low: courseLeft, high: windowPace}
	right := scale{from: 0, to: longest, low: windowCPU + 30, high: chartWidth - courseRight}
	for _, c := range shown {
		d.windows(f, c, left, right, top)
		top += windowHeight + stripGap
	}
	d.height = top + axisRoom
	d.xAxis(left, top, top, "seconds since the window began")
	d.xAxis(right, top, top, "CPU %, over the same seconds")
	return []chart{{says: "What each trial that counts had in every part of its window, one line a trial: at the left what was received, at the right how busy the nodes' CPUs were, of all of a node's.",
		picture: d, figures: windowFigures(f, cells), notes: notes}}
}

func hasCPUs(c analysis.Cell) bool {
	return slices.ContainsFunc(c.Course, func(m analysis.Moment) bool { return len(m.CPUs) > 0 })
}

// windowEnd is where the last part of a cell's windows ends; 0: it has none.
func windowEnd(c analysis.Cell) float64 {
	end := 0.0
	for _, m := range c.Course {
		if m.Excluded == "" && len(m.Paces) > 1 {
			end = max(end, min(m.Paces[len(m.Paces)-1].To, 2*c.WindowSeconds))
		}
	}
	return end
}

// windows draws the strip of one cell.
func (d *drawing) windows(f analysis.Findings, c analysis.Cell, left, right scale, top float64) {
	unit, unitScale := paceUnit(c.Pace())
	most := 0.0
	for _, m := range c.Course {
		most = max(most, min(m.Fastest, 3*m.Pace)/unitScale)
	}
	pace := linearScale(most).between(top+windowHeight, top+6)
	room := courseLeft - 60
	d.label("strong", fromHere, chartMargin, top+18, room, c.Spec.Name)
	d.label("small faint", fromHere, chartMargin, top+32, room, c.Spec.Says)
	d.label("small faint", fromHere, chartMargin, top+46, room, unit)
	d.yAxis(pace, left.low, left.high, 0, pace.to)
	cpu := scale{from: 0, to: 100}.between(top+windowHeight, top+6)
	d.yAxis(cpu, right.low, right.high, 0, 100)
	drawn := 0
	for _, m := range c.Course {
		if m.Excluded != "" || len(m.Paces) < 2 || drawn == mostWindows {
			continue
		}
		drawn++
		d.polyline("s1 stroke thin light", lineOfParts(m.Paces, left, pace, unitScale))
		for i, n := range f.Run.Nodes {
			if i < len(nodeMarks) {
				d.polyline(nodeMarks[i][:2]+" stroke thin light", lineOfParts(m.CPUs[n.Name], right, cpu, 1))
			}
		}
	}
}

// mostParts is how many parts of one window are drawn.
const mostParts = 200

// lineOfParts is a line through the middles of the parts.
func lineOfParts(parts []analysis.Part, time, value scale, unitScale float64) []point {
	var line []point
	for _, p := range parts[:min(len(parts), mostParts)] {
		line = append(line, point{time.at((p.From + p.To) / 2), value.at(p.Value / unitScale)})
	}
	return line
}

// windowFigures has a row for each trial.
func windowFigures(f analysis.Findings, cells []analysis.Cell) *table {
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "block"}, {name: "parts"}, {"pace", "slowest", false}, {"pace", "fastest", false}, {name: "unit", text: true},
	}}
	for _, n := range f.Run.Nodes {
		t.columns = append(t.columns, column{"CPU % of " + n.Name, "least", false}, column{"CPU % of " + n.Name, "most", false})
	}
	for _, c := range cells {
		unit, unitScale := paceUnit(c.Pace())
		for _, m := range c.Course {
			if m.Excluded != "" || len(m.Paces) < 2 {
				continue
			}
			row := []string{c.Spec.Name, fmt.Sprint(m.Block), fmt.Sprint(len(m.Paces)), rate(m.Slowest / unitScale), rate(m.Fastest / unitScale), unit}
			for _, n := range f.Run.Nodes {
				row = append(row, leastAndMost(m.CPUs[n.Name])...)
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

func leastAndMost(parts []analysis.Part) []string {
	if len(parts) == 0 {
		return []string{dash, dash}
	}
	least, most := analysis.Extremes(parts)
	return []string{fmt.Sprintf("%.1f", least), fmt.Sprintf("%.1f", most)}
}
