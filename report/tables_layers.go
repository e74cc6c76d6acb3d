package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

const (
	// layerRoom is how many of a line's columns the layers have in a table; those that do not fit are added up.
	layerRoom = 49
	// layerWidth is a figure's.
	layerWidth = 4
	// mostChanges is how many layers a difference names.
	mostChanges = 6
)

// layerHeading is that of the first table of layers; plots stand behind it.
const layerHeading = "What each layer costs: CPU, ns per KiB received"

// layerCosts is what each layer cost, one table for all nodes: by KiB, or by packet of loads whose bytes are few.
func layerCosts(f analysis.Findings) []section {
	perKiB := layerTable(f, layerHeading,
		func(c analysis.Cell) bool { return !c.Latencies() && !c.Framed() },
		func(l analysis.LayerCost) result.Figure { return l.PerKiB })
	perPacket := layerTable(f, "What each layer costs: CPU, ns per packet",
		func(c analysis.Cell) bool { return true },
		func(l analysis.LayerCost) result.Figure { return l.PerPacket })
	perKiB.notes = append(perKiB.notes, notSampled(f)...)
	if perKiB.table == nil && perPacket.table == nil {
		return []section{perKiB}
	}
	last := &perPacket
	if perPacket.table == nil {
		last = &perKiB
	}
	last.notes = append(last.notes, layerNotes(f)...)
	return []section{perKiB, perPacket}
}

func layerTable(f analysis.Findings, heading string, shown func(analysis.Cell) bool, of func(analysis.LayerCost) result.Figure) section {
	layers, more := columnsOf(f)
	t := &table{columns: []column{{name: "cell", text: true}, {name: "node", text: true}}}
	for _, l := range layers {
		t.columns = append(t.columns, column{name: string(l)})
	}
	if more {
		t.columns = append(t.columns, column{name: "rest"})
	}
	t.columns = append(t.columns, column{name: "sum"}, column{name: "not sampled"}, column{name: "measured"})
	for _, c := range f.Cells {
		for _, n := range c.Layers {
			if n.Reason != "" || !shown(c) || !of(n.Sum).Known() {
				continue
			}
			t.rows = append(t.rows, layerRow(c.Spec.Name, n, layers, more, of))
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{heading: heading, table: t}
}

func layerRow(cell string, n analysis.NodeLayers, layers []analysis.Layer, more bool, of func(analysis.LayerCost) result.Figure) []string {
	row, rest := []string{cell, n.Node}, 0.0
	cells := map[analysis.Layer]string{}
	for _, cost := range n.Costs {
		if slices.Contains(layers, cost.Layer) {
			cells[cost.Layer] = whole(of(cost))
		} else {
			rest += of(cost).Mean
		}
	}
	for _, l := range layers {
		row = append(row, orDash(cells[l]))
	}
	if more {
		row = append(row, whole(result.Figure{Mean: rest, N: n.Trials}))
	}
	return append(row, whole(of(n.Sum)), whole(of(n.NotSampled)), whole(of(n.Measured)))
}

// layerShares are the largest shares that layers have in any cell, in percent.
func layerShares(f analysis.Findings) map[analysis.Layer]float64 {
	most := map[analysis.Layer]float64{}
	for _, c := range f.Cells {
		for _, n := range c.Layers {
			for _, cost := range n.Costs {
				most[cost.Layer] = max(most[cost.Layer], cost.Share.Mean)
			}
		}
	}
	return most
}

// columnsOf are the layers with the largest share in any cell, as many as fit, in the table's order, and whether
// there are more.
func columnsOf(f analysis.Findings) (layers []analysis.Layer, more bool) {
	most := layerShares(f)
	for _, l := range analysis.Layers() {
		if most[l] > 0 {
			layers = append(layers, l)
		}
	}
	bySize := slices.Clone(layers)
	slices.SortStableFunc(bySize, func(a, b analysis.Layer) int {
		return cmp.Compare(most[b], most[a])
	})
	fit, room := 0, layerRoom
	for ; fit < len(bySize) && room >= gap+max(layerWidth, len(bySize[fit])); fit++ {
		room -= gap + max(layerWidth, len(bySize[fit]))
	}
	return slices.DeleteFunc(layers, func(l analysis.Layer) bool { return !slices.Contains(bySize[:fit], l) }), fit < len(bySize)
}

// layerNotes say what the columns are, and how far they can be believed.
func layerNotes(f analysis.Findings) []string {
	packets := map[string][]string{}
	for _, c := range f.Cells {
		for _, n := range c.Layers {
			if n.Reason == "" && n.Packets != "" && !slices.Contains(packets[n.Packets], c.Spec.Name) {
				packets[n.Packets] = append(packets[n.Packets], c.Spec.Name)
			}
		}
	}
	notes := []string{"Stacks were sampled in the window; docs/layers.md has the table by which a stack has its layer. " +
		"Kernel threads, windtunnel and other programs are what CPUs did beside the cell's work."}
	notes = append(notes, sumNotes(f)...)
	notes = append(notes, told(f, "Idle CPUs' wake-ups of %s are not known, and their sums are of samples alone: %s.", func(n analysis.NodeLayers) string { return n.NoWakeUps })...)
	notes = append(notes, unfitNotes(f)...)
	if on := packets[analysis.PerWire]; len(on) > 0 {
		notes = append(notes, "Packets are those on the wire in "+strings.Join(on, ", ")+", whose load has none of its own.")
	}
	return notes
}

// sumNotes say how the layers' sum agrees with what was measured, and how much of it is not from samples.
func sumNotes(f analysis.Findings) []string {
	spread := func(of func(analysis.NodeLayers) result.Figure) (least, largest float64) {
		least, largest = math.Inf(1), math.Inf(-1)
		for _, c := range f.Cells {
			for _, n := range c.Layers {
				if v := of(n); n.Reason == "" && v.Known() {
					least, largest = min(least, v.Mean), max(largest, v.Mean)
				}
			}
		}
		return least, largest
	}
	least, largest := spread(func(n analysis.NodeLayers) result.Figure { return n.Coverage })
	if least > largest {
		return nil
	}
	if layerShares(f)[analysis.LayerWakeUps] == 0 {
		return []string{fmt.Sprintf("Sum is of the samples, measured the busy time of the node's CPUs by their own clocks: the samples found %.0f to %.0f %% of it, and not sampled is the difference.", least, largest)}
	}
	notes := []string{fmt.Sprintf("Sum is of the samples and of idle CPUs' wake-ups, measured the busy time of the node's CPUs by their own clocks: the sum is %.0f to %.0f %% of it, and not sampled is the difference.", least, largest)}
	least, largest = spread(func(n analysis.NodeLayers) result.Figure { return n.Sampled })
	return append(notes, fmt.Sprintf("Idle wake-ups are the time in which idle tasks had the CPUs, less the time in which these rested and what samples found there: "+
		"the samples alone are %.0f to %.0f %% of what was measured.", least, largest))
}

// unfitNotes tell of stacks that did not fit, or came too late, each with where that was worst.
func unfitNotes(f analysis.Findings) (notes []string) {
	for _, kind := range []struct {
		of   func(analysis.NodeLayers) uint64
		says string
	}{
		{func(n analysis.NodeLayers) uint64 { return n.Cut }, "Stacks that were shortened to their outer frames, so that they fit a record, and count for a caller's layer"},
		{func(n analysis.NodeLayers) uint64 { return n.Lost }, "Stacks that nothing is known of, for want of room, and count as " + string(analysis.LayerOther)},
		{func(n analysis.NodeLayers) uint64 { return n.Late }, "Stacks that came when their program had left the CPU (a hypervisor's timer is late), so that only whose they are is known"},
	} {
		most, where := 0.0, ""
		for _, c := range f.Cells {
			for _, n := range c.Layers {
				if part := 100 * float64(kind.of(n)) / max(1, float64(n.Samples)); part > most {
					most, where = part, fmt.Sprintf("%s on node %s", c.Spec.Name, n.Node)
				}
			}
		}
		if most > 0 {
			notes = append(notes, fmt.Sprintf("%s: at most %.2g %%, in %s.", kind.says, most, where))
		}
	}
	return notes
}

// notSampled says why cells have no layers, where stacks were to be sampled.
func notSampled(f analysis.Findings) []string {
	return told(f, "Layer costs of %s are not known: %s.", func(n analysis.NodeLayers) string { return n.Reason })
}

// told says each reason once, with the cells that have it on some node.
func told(f analysis.Findings, says string, of func(analysis.NodeLayers) string) (notes []string) {
	if !f.Run.Plan.Profile {
		return nil
	}
	cells := map[string][]string{}
	var reasons []string
	for _, c := range f.Cells {
		for _, n := range c.Layers {
			reason := of(n)
			if reason == "" || slices.Contains(cells[reason], c.Spec.Name) {
				continue
			}
			if cells[reason] == nil {
				reasons = append(reasons, reason)
			}
			cells[reason] = append(cells[reason], c.Spec.Name)
		}
	}
	for _, reason := range reasons {
		notes = append(notes, fmt.Sprintf(says, strings.Join(cells[reason], ", "), reason))
	}
	return notes
}

// layerChanges is where two cells' CPU time differs, layer by layer.
func layerChanges(f analysis.Findings) section {
	s := section{heading: "Where the cost differs: CPU, ns per KiB received"}
	said := map[[2]string]bool{}
	for _, r := range f.Ratios {
		cells := [2]string{r.Ratio.Over, r.Ratio.Under}
		over, _ := f.Cell(r.Ratio.Over)
		if said[cells] || len(r.Layers) == 0 || over.Latencies() || over.Framed() {
			continue
		}
		said[cells] = true
		i := item{name: r.Ratio.Over + " - " + r.Ratio.Under}
		for _, at := range r.Layers {
			i.lines = append(i.lines, line{says: changesLine(at)})
		}
		s.items = append(s.items, i)
	}
	if len(s.items) > 0 {
		s.notes = []string{"Each difference is taken within blocks; its bounds are over them, each layer's by itself. Those whose bounds hold 0 are not named."}
	}
	return s
}

func changesLine(at analysis.RatioLayers) string {
	where := "on all nodes"
	if at.Node != "" {
		where = "on node " + at.Node
	}
	var parts []string
	for _, c := range at.Changes {
		if f := c.PerKiB; len(parts) < mostChanges && (f.Low == nil || f.High == nil || *f.Low > 0 || *f.High < 0) {
			parts = append(parts, string(c.Layer)+" "+change(f))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no layer that is told apart from 0"}
	}
	return fmt.Sprintf("%s: %s in all; %s", where, change(at.Sum), strings.Join(parts, ", "))
}

// change is a difference with its sign and bounds.
func change(f result.Figure) string {
	if !f.Known() {
		return dash
	}
	if f.Low == nil || f.High == nil {
		return signed(f.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", signed(f.Mean), digits(*f.Low), digits(*f.High))
}

func signed(v float64) string {
	if v < 0 {
		return digits(v)
	}
	return "+" + digits(v)
}

// digits has three of them, or all before the point.
func digits(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
