package report

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// coursePlot is what each cell did over the run, trial by trial, with the CPU use of the nodes under it: drift, two modes and
// trials that stand out are seen at once.
var coursePlot = plot{name: "course", heading: "Over time", after: throughputHeading, draw: drawCourses}

// The measures of a course. A cell's strip has its pace above and its CPU use below.
const (
	courseLeft, courseRight = 170.0, 20.0
	paceHeight, cpuHeight   = 56.0, 30.0
	stripGap                = 22.0
	mostStrips              = 16
	mostMarks               = 300
)

// course is the picture of a run under way.
type course struct {
	*drawing
	findings analysis.Findings
	seconds  bool // whether the trials say when they were; else blocks are the time
	time     scale
}

func drawCourses(f analysis.Findings) []chart {
	c := course{drawing: newDrawing(chartWidth, 0), findings: f}
	var cells []analysis.Cell
	for _, cell := range f.Cells {
		if len(cell.Course) > 0 {
			cells = append(cells, cell)
			c.seconds = c.seconds || cell.Course[len(cell.Course)-1].Seconds > 0
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
	c.setTime(cells)
	top := c.legend(courseLegend(f))
	for _, cell := range shown {
		top = c.strip(cell, top)
	}
	c.height = top + axisRoom
	says := "block"
	if c.seconds {
		says = "seconds since the run began"
	}
	c.xAxis(c.time, top, top, says)
	return []chart{{says: courseSays(shown), picture: c.drawing, figures: courseFigures(f, cells), notes: notes}}
}

func (c *course) setTime(cells []analysis.Cell) {
	last := 1.0
	for _, cell := range cells {
		for _, m := range cell.Course {
			last = max(last, c.when(m)+cell.WindowSeconds/2)
		}
	}
	c.time = scale{from: 0, to: last, low: courseLeft, high: chartWidth - courseRight}
}

func (c *course) when(m analysis.Moment) float64 {
	if c.seconds {
		return m.Seconds
	}
	return float64(m.Block)
}

// strip draws one cell and returns where the next one begins.
func (c *course) strip(cell analysis.Cell, top float64) float64 {
	unit, unitScale := paceUnit(cell.Pace())
	most := 0.0
	for _, m := range cell.Course {
		most = max(most, m.Pace/unitScale, min(m.Fastest, 2*m.Pace)/unitScale)
	}
	pace := linearScale(most).between(top+paceHeight, top+4)
	room := courseLeft - 60
	c.label("strong", fromHere, chartMargin, top+16, room, cell.Spec.Name)
	c.label("small faint", fromHere, chartMargin, top+30, room, cell.Spec.Says)
	c.label("small faint", fromHere, chartMargin, top+44, room, unit)
	c.yAxis(pace, c.time.low, c.time.high, 0, pace.to)
	c.spans(cell, pace, unitScale)
	c.series("s1", c.marks(cell, pace, func(m analysis.Moment) (float64, bool) { return m.Pace / unitScale, m.Known }))
	below := top + paceHeight + 16
	cpu := scale{from: 0, to: 100}.between(below+cpuHeight, below)
	c.label("small faint", fromHere, chartMargin, below+cpuHeight-4, room, "CPU %")
	c.yAxis(cpu, c.time.low, c.time.high, 0, 100)
	for i, n := range c.findings.Run.Nodes {
		if i < len(nodeMarks) {
			c.series(nodeMarks[i], c.marks(cell, cpu, func(m analysis.Moment) (float64, bool) { v, ok := m.CPU[n.Name]; return v, ok }))
		}
	}
	return below + cpuHeight + stripGap
}

// spans are from each trial's slowest part to its fastest.
func (c *course) spans(cell analysis.Cell, pace scale, unitScale float64) {
	for i, m := range cell.Course {
		if len(m.Paces) > 1 && i%skipped(cell) == 0 {
			x := c.time.at(c.when(m))
			c.line("s1 stroke thin light", x, pace.at(m.Slowest/unitScale), x, pace.at(m.Fastest/unitScale))
		}
	}
}

// nodeMarks are the series of the nodes' CPUs; more nodes than that are in the table alone.
var nodeMarks = []string{"s2", "s3 square", "s4 diamond", "s5"}

// mark is one trial in a picture.
type mark struct {
	point
	counts bool
}

// marks are the trials that have a value. Of very many some are left out, evenly.
func (c *course) marks(cell analysis.Cell, value scale, of func(analysis.Moment) (float64, bool)) []mark {
	var marks []mark
	for i, m := range cell.Course {
		if v, ok := of(m); ok && i%skipped(cell) == 0 {
			marks = append(marks, mark{point{c.time.at(c.when(m)), value.at(v)}, m.Excluded == ""})
		}
	}
	return marks
}

// skipped is every how many trials one is drawn.
func skipped(cell analysis.Cell) int { return (len(cell.Course) + mostMarks - 1) / mostMarks }

// series joins the trials that count, and marks each; one that does not count is a cross.
func (d *drawing) series(class string, marks []mark) {
	color := strings.Fields(class)[0]
	var joined []point
	for _, m := range marks {
		if m.counts {
			joined = append(joined, m.point)
		}
	}
	d.polyline(color+" stroke thin light", joined)
	for _, m := range marks {
		switch {
		case !m.counts:
			d.cross(color+" stroke thin", m.x, m.y, 3)
		case hasWord(class, "square"):
			d.square(color+" fill", m.x, m.y, 2.5)
		case hasWord(class, "diamond"):
			d.diamond(color+" fill", m.x, m.y, 3.5)
		default:
			d.circle(color+" fill", m.x, m.y, 3)
		}
	}
}

func courseLegend(f analysis.Findings) []legendKey {
	of := func(class string) func(d *drawing, x, y float64) {
		return func(d *drawing, x, y float64) { d.series(class, []mark{{point{x, y}, true}}) }
	}
	keys := []legendKey{{"a trial", of("s1")}}
	for i, n := range f.Run.Nodes {
		if i < len(nodeMarks) {
			keys = append(keys, legendKey{"CPU of node " + bounded(n.Name, 20), of(nodeMarks[i])})
		}
	}
	return append(keys, legendKey{"does not count", func(d *drawing, x, y float64) { d.series("s7", []mark{{point{x, y}, false}}) }})
}

func courseSays(cells []analysis.Cell) string {
	text := "Every trial of every cell in the order of time; each cell's scale begins at 0 and is its own. Under it is how busy the nodes' CPUs were, of all of a node's."
	if slices.ContainsFunc(cells, func(c analysis.Cell) bool {
		return slices.ContainsFunc(c.Course, func(m analysis.Moment) bool { return len(m.Paces) > 1 })
	}) {
		text += " The line through a trial goes from the slowest part of its window to the fastest; parts are about a tenth of a second, longer in long windows."
	}
	for _, c := range cells {
		if len(c.Course) > mostMarks {
			return text + fmt.Sprintf(" Of cells with more than %d trials some are left out, evenly.", mostMarks)
		}
	}
	return text
}

// paceUnit is how a pace is written, and how much of the metric's unit that is.
func paceUnit(m result.Metric) (unit string, unitScale float64) {
	for _, p := range paces {
		if p.metric == m {
			return p.unit, p.scale
		}
	}
	return string(m), 1
}

func courseFigures(f analysis.Findings, cells []analysis.Cell) *table {
	t := &table{columns: []column{{name: "cell", text: true}, {name: "block"}, {name: "second"}, {name: "pace"}, {"of its parts", "slowest", false}, {"of its parts", "fastest", false}, {name: "unit", text: true}}}
	for _, n := range f.Run.Nodes {
		t.columns = append(t.columns, column{"CPU %", n.Name, false})
	}
	t.columns = append(t.columns, column{name: "does not count", text: true})
	for _, c := range cells {
		unit, unitScale := paceUnit(c.Pace())
		for _, m := range c.Course {
			row := []string{c.Spec.Name, fmt.Sprint(m.Block), fmt.Sprintf("%.1f", m.Seconds), dash, dash, dash, unit}
			if m.Known {
				row[3] = rate(m.Pace / unitScale)
			}
			if len(m.Paces) > 1 {
				row[4], row[5] = rate(m.Slowest/unitScale), rate(m.Fastest/unitScale)
			}
			for _, n := range f.Run.Nodes {
				text := dash
				if v, ok := m.CPU[n.Name]; ok {
					text = fmt.Sprintf("%.1f", v)
				}
				row = append(row, text)
			}
			t.rows = append(t.rows, append(row, m.Excluded))
		}
	}
	return t
}
