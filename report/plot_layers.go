package report

import (
	"cmp"
	"fmt"
	"slices"

	"windtunnel/analysis"
	"windtunnel/result"
)

// layersPlot is what each layer cost, as stacked bars, a bar a cell and node, with the measured CPU time beside it.
var layersPlot = plot{name: "layers", heading: "What each layer costs, stacked", after: layerHeading, draw: drawLayers}

// layerSeries are the colours of layers, those with the largest share first; layerRest is that of all others.
var layerSeries = []string{"s1", "s2", "s3", "s4", "s5", "s6", "s8"}

const layerRest = "s7"

// palette gives layers their colours, in the table's order.
type palette struct {
	layers []analysis.Layer
	class  map[analysis.Layer]string
}

// paletteOf has the largest of the cells' own layers, so that all pictures of a report have the same colours.
func paletteOf(f analysis.Findings) palette {
	most := layerShares(f)
	var own []analysis.Layer
	for _, l := range analysis.Layers() {
		if most[l] > 0 && !l.Beside() && l != analysis.LayerOther {
			own = append(own, l)
		}
	}
	slices.SortStableFunc(own, func(a, b analysis.Layer) int { return cmp.Compare(most[b], most[a]) })
	p := palette{class: map[analysis.Layer]string{}}
	for i, l := range own[:min(len(own), len(layerSeries))] {
		p.class[l] = layerSeries[i]
	}
	for _, l := range analysis.Layers() {
		if p.class[l] != "" {
			p.layers = append(p.layers, l)
		}
	}
	return p
}

func (p palette) of(l analysis.Layer) string {
	if class := p.class[l]; class != "" {
		return class
	}
	return layerRest
}

// legend explains the colours; look is how they are drawn.
func (p palette) legend(look string) []legendKey {
	var keys []legendKey
	add := func(says, class string) {
		keys = append(keys, legendKey{says, func(d *drawing, x, y float64) { d.rect(class+look, x-5, y-5, 10, 10) }})
	}
	for _, l := range p.layers {
		add(string(l), p.class[l])
	}
	add("all else", layerRest)
	return keys
}

// layerBar is a row of the picture.
type layerBar struct {
	cell analysis.Cell
	node analysis.NodeLayers
}

func drawLayers(f analysis.Findings) []chart {
	var charts []chart
	for _, unit := range []struct {
		says  string
		shown func(layerBar) bool
		of    func(analysis.LayerCost) result.Figure
	}{
		{"ns per KiB received", func(b layerBar) bool { return !b.cell.Latencies() && !b.cell.Framed() },
			func(l analysis.LayerCost) result.Figure { return l.PerKiB }},
		{"ns per packet received", func(b layerBar) bool { return b.node.Packets == analysis.PerReceived },
			func(l analysis.LayerCost) result.Figure { return l.PerPacket }},
	} {
		var bars []layerBar
		for _, c := range f.Cells {
			for _, n := range c.Layers {
				if b := (layerBar{c, n}); n.Reason == "" && unit.shown(b) && unit.of(n.Sum).Known() {
					bars = append(bars, b)
				}
			}
		}
		if len(bars) > 0 {
			charts = append(charts, drawBars(paletteOf(f), bars, unit.says, unit.of))
		}
	}
	return charts
}

func drawBars(p palette, bars []layerBar, unit string, of func(analysis.LayerCost) result.Figure) chart {
	shown, notes := firstRows(bars, "bars")
	var rows []chartRow
	most := 0.0
	for _, b := range shown {
		rows = append(rows, chartRow{fmt.Sprintf("%s, node %s", b.cell.Spec.Name, b.node.Node), b.cell.Spec.Says, whole(of(b.node.Sum))})
		most = max(most, of(b.node.Sum).Mean, of(b.node.Measured).Mean)
	}
	keys := append(p.legend(" fill"), legendKey{"measured CPU time", func(d *drawing, x, y float64) { d.diamond("published hollow", x, y, 6) }})
	c := newRowChart(rows, linearScale(most), "CPU, "+unit, keys...)
	for i, b := range shown {
		c.stack(i, p, b, unit, of)
		c.diamond("published hollow", c.at(of(b.node.Measured).Mean), c.y(i), 6)
	}
	return chart{of: unit, picture: c.drawing, notes: notes, figures: layerFigures(bars, of),
		says: "What of the CPU time of each cell's nodes each layer took, on the mean of the trials, by sampled stacks. Diamonds are the busy time of the node's CPUs, measured apart."}
}

// stack draws the layers that have a colour, and what is left as one.
func (c rowChart) stack(row int, p palette, b layerBar, unit string, of func(analysis.LayerCost) result.Figure) {
	from, rest := 0.0, 0.0
	part := func(says, class string, cost float64) {
		if cost <= 0 { // a measure that comes to nothing
			return
		}
		c.tip(fmt.Sprintf("%s, node %s: %s %.3g %s", b.cell.Spec.Name, b.node.Node, says, cost, unit), func() {
			c.bar(class+" fill", row, from, from+cost, 20)
		})
		from += cost
	}
	for _, cost := range b.node.Costs {
		if class := p.class[cost.Layer]; class != "" {
			part(string(cost.Layer), class, of(cost).Mean)
		} else {
			rest += of(cost).Mean
		}
	}
	if rest > 0 {
		part("all else", layerRest, rest)
	}
}

// layerFigures has a row for each layer of each bar.
func layerFigures(bars []layerBar, of func(analysis.LayerCost) result.Figure) *table {
	t := &table{columns: []column{{name: "cell", text: true}, {name: "node", text: true}, {name: "layer", text: true}, {"ns", "mean", false}, {"ns", "low", false}, {"ns", "high", false}, {name: "%"}}}
	for _, b := range bars {
		for _, cost := range slices.Concat(b.node.Costs, []analysis.LayerCost{b.node.Sum, b.node.NotSampled, b.node.Measured}) {
			v := of(cost)
			row := []string{b.cell.Spec.Name, b.node.Node, string(cost.Layer), whole(v), dash, dash, share(cost.Share)}
			if v.Low != nil && v.High != nil {
				row[4], row[5] = digits(*v.Low), digits(*v.High)
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}
