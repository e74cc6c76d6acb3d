package report

import (
	"fmt"
	"sort"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

const throughputHeading = "Throughput and CPU use"

// throughput is the source's table, turned: a row a cell, both ends' Mbit/s and
// CPU use, and what was published.
func throughput(f analysis.Findings) section {
	published := hasPublished(f)
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "what", text: true},
		{"sender", "Mbit/s", false}, {"sender", "CPU %", false},
		{"receiver", "Mbit/s", false}, {"receiver", "± %", false}, {"receiver", "CPU %", false},
	}}
	if published {
		t.columns = append(t.columns,
			column{"publ. sender", "Mbit/s", false}, column{"publ. sender", "CPU %", false},
			column{"publ. receiver", "Mbit/s", false}, column{"publ. receiver", "CPU %", false})
	}
	s := section{heading: throughputHeading, table: t}
	for _, c := range f.Cells {
		row := append([]string{c.Spec.Name, c.Spec.Says}, measured(c)...)
		if published {
			row = append(row, publishedRow(c.Spec)...)
		}
		t.rows = append(t.rows, row)
		if note := notMeasured(c); note != "" {
			s.notes = append(s.notes, note)
		}
	}
	return s
}

func measured(c analysis.Cell) []string {
	received := c.Figure(result.ReceivedRate)
	return []string{
		megabits(c.Figure(result.SentRate)), cpuUse(c, c.Spec.Senders()),
		megabits(received), spread(received), cpuUse(c, c.Spec.Receivers()),
	}
}

// cpuUse is the CPU use of an end's nodes, one after the other.
func cpuUse(c analysis.Cell, nodes []string) string {
	var all []string
	for _, node := range nodes {
		all = append(all, oneDecimal(c.Figure(result.CPUPercent(node))))
	}
	return orDash(strings.Join(all, "/"))
}

// hasPublished reports whether a source has figures of this table's.
func hasPublished(f analysis.Findings) bool {
	for _, c := range f.Cells {
		for m := range c.Spec.Published {
			if m == result.SentRate || m == result.ReceivedRate || m.CPUNode() != "" {
				return true
			}
		}
	}
	return false
}

func publishedRow(spec result.Cell) []string {
	of := func(m result.Metric, scale float64) string {
		v, ok := spec.Published[m]
		if !ok {
			return dash
		}
		return rate(v / scale)
	}
	cpu := func(nodes []string) string {
		var all []string
		for _, node := range nodes {
			if v, ok := spec.Published[result.CPUPercent(node)]; ok {
				all = append(all, fmt.Sprintf("%.1f", v))
			}
		}
		return orDash(strings.Join(all, "/"))
	}
	return []string{of(result.SentRate, 1e6), cpu(spec.Senders()), of(result.ReceivedRate, 1e6), cpu(spec.Receivers())}
}

// notMeasured says why a cell has no figures.
func notMeasured(c analysis.Cell) string {
	switch c.Status {
	case analysis.Skipped:
		return c.Spec.Name + " is not measured here: " + c.Reason
	case analysis.Failed:
		return c.Spec.Name + " failed: " + c.Reason
	}
	return ""
}

// costs is what the throughput took: CPU time, packets, and what was lost.
func costs(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true},
		{"CPU, ns per KiB", "sender", false}, {"CPU, ns per KiB", "receiver", false},
		{"wire", "packets/s", false}, {"bytes per packet", "wire", false}, {"bytes per packet", "endpoint", false},
		{"in a trial", "retransmits", false}, {"in a trial", "drops", false},
		{"MTU", "wire/endpoint", false}, {name: "trials"},
	}}
	s := section{heading: "What it takes", table: t}
	for _, c := range f.Cells {
		if c.Status != analysis.Measured {
			continue
		}
		t.rows = append(t.rows, []string{
			c.Spec.Name,
			kibCost(c, result.SenderCost), kibCost(c, result.ReceiverCost),
			thousands(c.Figure(result.WirePacketRate)), whole(c.Figure(result.WirePacketSize)), whole(c.Figure(result.EndpointPacketSize)),
			oneDecimal(c.Figure(result.Retransmits)), lostInTrial(c),
			mtus(c.Spec.MTU), fmt.Sprint(c.Trials),
		})
	}
	s.notes = append(s.notes, together(f, missing)...)
	s.notes = append(s.notes, variants(f)...)
	if len(t.rows) == 0 {
		return section{}
	}
	return s
}

// mtus are the largest packets of the wire, where it is known, and of the endpoints.
func mtus(m result.MTU) string {
	switch {
	case m.Endpoint == 0: // of what another tool measured
		return dash
	case m.Wire == 0:
		return fmt.Sprintf("%s/%d", dash, m.Endpoint)
	}
	return fmt.Sprintf("%d/%d", m.Wire, m.Endpoint)
}

// kibCost is the cost per KiB, which means nothing where requests of a few bytes
// were timed.
func kibCost(c analysis.Cell, m result.Metric) string {
	if c.Latencies() {
		return dash
	}
	return whole(c.Figure(m))
}

// variants name the cells that are not as the intro says.
func variants(f analysis.Findings) []string {
	var unsegmented, cut, summed, wired, notes []string
	for _, c := range f.Cells {
		if c.Spec.Segmentation == "off" {
			unsegmented = append(unsegmented, c.Spec.Name)
		}
		if c.Spec.Segmentation == "no-lso" {
			cut = append(cut, c.Spec.Name)
		}
		if c.Spec.Checksum != "" {
			summed = append(summed, c.Spec.Name)
		}
		if c.Spec.Wire != f.Run.Wire && !c.Spec.Colocated() {
			wired = append(wired, c.Spec.Name+" ("+c.Spec.Wire+")")
		}
	}
	if len(unsegmented) > 0 {
		notes = append(notes, "Segmentation is off (no TSO, GSO, GRO) in "+strings.Join(unsegmented, ", ")+".")
	}
	if len(cut) > 0 {
		notes = append(notes, "Large-send offload is off at the containers (packets leave them at the size of the MTU) in "+strings.Join(cut, ", ")+".")
	}
	if len(summed) > 0 {
		notes = append(notes, "Endpoints finish checksums in software in "+strings.Join(summed, ", ")+".")
	}
	if len(wired) > 0 {
		notes = append(notes, "The wire is another in "+strings.Join(wired, ", ")+".")
	}
	return notes
}

// missing says why a measured cell lacks figures that its kind of load should
// have, each reason once.
func missing(c analysis.Cell) []string {
	if c.Status != analysis.Measured {
		return nil
	}
	var reasons []string
	seen := map[string]bool{}
	figures := []result.Metric{
		result.SentRate, result.ReceivedRate, result.SenderCost, result.ReceiverCost,
		result.WirePacketRate,
	}
	if c.Spec.Traffic == "stream" {
		figures = append(figures, result.EndpointPacketSize, result.Retransmits)
	}
	for _, node := range append(c.Spec.Senders(), c.Spec.Receivers()...) {
		figures = append(figures, result.CPUPercent(node))
	}
	for _, m := range figures {
		if f := c.Figure(m); !f.Known() && !seen[f.Reason] {
			seen[f.Reason] = true
			reasons = append(reasons, f.Reason)
		}
	}
	return reasons
}

// foreignPath is that of cells which other tools measured: nobody counted there what was lost.
const foreignPath = "foreign"

func lostInTrial(c analysis.Cell) string {
	if c.Spec.Path == foreignPath {
		return dash
	}
	sum := 0.0
	for _, f := range c.Drops {
		sum += f.Mean
	}
	return oneDecimal(result.Figure{Mean: sum, N: max(c.Trials, 1)})
}

// pairs is each pair's own rate, in cells with several.
func pairs(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "from", text: true}, {name: "to", text: true},
		{"received", "Mbit/s", false}, {"received", "± %", false},
	}}
	for _, c := range f.Cells {
		if len(c.Pairs) < 2 || c.Status != analysis.Measured || len(c.Mesh().From) > 0 {
			continue
		}
		for _, p := range c.Pairs {
			t.rows = append(t.rows, []string{c.Spec.Name, p.From, p.To, megabits(p.Received), spread(p.Received)})
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{heading: "Each pair", table: t}
}

// losses names where packets were dropped.
func losses(f analysis.Findings) section {
	return byName("Drops in a trial, by name", f, func(c analysis.Cell) map[string]result.Figure { return c.Drops })
}

// switchCounts are what switches count in their own words.
func switchCounts(f analysis.Findings) section {
	return byName("Counted by switches in a trial", f, func(c analysis.Cell) map[string]result.Figure { return c.Counts })
}

func byName(heading string, f analysis.Findings, of func(analysis.Cell) map[string]result.Figure) section {
	s := section{heading: heading}
	for _, c := range f.Cells {
		var parts []string
		for name, figure := range of(c) {
			parts = append(parts, name+" "+oneDecimal(figure))
		}
		sort.Strings(parts)
		if len(parts) > 0 {
			s.items = append(s.items, item{name: c.Spec.Name, says: strings.Join(parts, ", ")})
		}
	}
	return s
}
