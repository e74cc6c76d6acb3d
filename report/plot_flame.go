package report

import (
	"cmp"
	"fmt"
	"slices"

	"windtunnel/analysis"
)

// flamePlot is where the CPU time of each cell's nodes went, call by call: flame graphs (Gregg, "The Flame Graph",
// CACM 59(6), 2016), whose widths are time and whose colours are layers.
var flamePlot = plot{name: "flame", heading: "Flame graphs", after: layerHeading, draw: drawFlames}

// The measures of flame graphs. Frames of all of them together are bounded, as a page is.
const (
	flameFrames    = 3000 // of all graphs
	flameDepth     = 72
	flameRow       = 15.0
	flameThinnest  = 0.8 // pixels: what is thinner is not drawn
	flameLabelled  = 30.0
	flameFunctions = 25 // rows of a graph's table
)

func drawFlames(f analysis.Findings) []chart {
	count := 0
	for _, c := range f.Cells {
		count += len(c.Flames)
	}
	colours := paletteOf(f)
	var charts []chart
	for _, c := range f.Cells {
		for _, flame := range c.Flames {
			if flame.Root.Seconds > 0 {
				charts = append(charts, drawFlame(colours, c, flame, flameFrames/min(count, mostCharts)))
			}
		}
	}
	return charts
}

// placed is a frame and where it stands: its beginning, in seconds, and how many are below it.
type placed struct {
	*analysis.FlameFrame
	from  float64
	depth int
}

func drawFlame(colours palette, c analysis.Cell, flame analysis.Flame, most int) chart {
	const width = chartWidth - 2*chartMargin
	perSecond := width / flame.Root.Seconds
	frames := widestFrames(flame.Root, flameThinnest/perSecond, most)
	d := newDrawing(chartWidth, 0)
	top := d.legend(colours.legend(" fill light"))
	highest := 0
	for _, p := range frames {
		highest = max(highest, p.depth)
	}
	bottom := top + flameRow*float64(highest)
	d.height = bottom + chartMargin
	for _, p := range frames {
		percent := 100 * p.Seconds / flame.Root.Seconds
		x, y, w := chartMargin+p.from*perSecond, bottom-flameRow*float64(p.depth), p.Seconds*perSecond
		d.tip(fmt.Sprintf("%s: %.3g %% of the CPU time (%s)", p.Name, percent, p.Layer), func() {
			d.rect(colours.of(p.Layer)+" fill light", x, y, max(w-0.5, 0.5), flameRow-1)
			if w >= flameLabelled {
				d.label("small", fromHere, x+3, y+flameRow-4, w-6, p.Name)
			}
		})
	}
	return chart{
		of: fmt.Sprintf("%s, node %s", c.Spec.Name, flame.Node), picture: d, figures: flameFigures(flame), tree: flameTree(flame),
		says: fmt.Sprintf("The CPU time of node %s in cell %s, as %d trials' samples found it: a frame's width is its share, above it is what it called, below it who called it. Idle time is left out, and what is thinner than %g pixels.",
			flame.Node, c.Spec.Name, flame.Trials, flameThinnest),
	}
}

// widestFrames are the frames that are drawn: the widest, with all of their callers, by place.
func widestFrames(root *analysis.FlameFrame, thinnest float64, most int) []placed {
	var all []placed
	var walk func(f *analysis.FlameFrame, from float64, depth int)
	walk = func(f *analysis.FlameFrame, from float64, depth int) {
		if depth > flameDepth {
			return
		}
		for _, called := range f.Called() {
			if called.Seconds >= thinnest {
				all = append(all, placed{called, from, depth})
				walk(called, from, depth+1)
			}
			from += called.Seconds
		}
	}
	walk(root, 0, 1)
	if len(all) > most { // callers are at least as wide, and stand before those that they called
		slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(b.Seconds, a.Seconds) })
		all = all[:most]
	}
	return all
}

// flameFigures are the functions that took the most by themselves, wherever they were called.
func flameFigures(flame analysis.Flame) *table {
	own, with := map[string]float64{}, map[string]*analysis.FlameFrame{}
	var walk func(f *analysis.FlameFrame)
	walk = func(f *analysis.FlameFrame) {
		for _, called := range f.Called() {
			own[called.Name] += called.Own
			if with[called.Name] == nil || called.Own > with[called.Name].Own {
				with[called.Name] = called
			}
			walk(called)
		}
	}
	walk(flame.Root)
	names := sortedNames(own)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(own[b], own[a]) })
	t := &table{columns: []column{{name: "function", text: true}, {name: "layer", text: true}, {name: "% by itself"}}}
	for _, name := range names[:min(len(names), flameFunctions)] {
		if own[name] == 0 {
			break
		}
		t.rows = append(t.rows, []string{name, string(with[name].Layer), fmt.Sprintf("%.3g", 100*own[name]/flame.Root.Seconds)})
	}
	return t
}

func sortedNames(of map[string]float64) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
