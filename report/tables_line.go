package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// lineRates is what frames took of the cores that forwarded them, and how much of a link's line rate
// they were.
func lineRates(f analysis.Findings) section {
	published := hasPublishedPackets(f)
	t := &table{columns: []column{
		{name: "cell", text: true},
		{"received, Mpps", "by direction", false}, {"received, Mpps", "sum", false},
		{"Mpps", "per core", false}, {"Mpps", "per busy core", false},
		{"a packet", "ns", false}, {"a packet", "cycles", false}, {name: "lost %"},
		{"10 GbE", "Mpps", false}, {"10 GbE", "%", false}, {"40 GbE", "Mpps", false}, {"40 GbE", "%", false},
	}}
	if published {
		t.columns = append(t.columns, column{"published", "Mpps", false}, column{"published", "% of 10 GbE", false})
	}
	for _, c := range f.Cells {
		given := publishedPackets(c.Spec)
		if !c.Framed() && len(given) == 0 {
			continue
		}
		row := lineRow(c)
		if published {
			row = append(row, orDash(given[result.ReceivedPacketRate]), orDash(given[result.LineShare10G]))
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{heading: "Line rate and cores", table: t, notes: lineNotes(f, published)}
}

func lineRow(c analysis.Cell) []string {
	var ways []string
	for _, d := range c.Directions {
		ways = append(ways, millions(d.Received))
	}
	return []string{
		c.Spec.Name, orDash(strings.Join(ways, "/")), millions(c.Figure(result.ReceivedPacketRate)),
		millions(c.Figure(result.PacketsPerCore)), millions(c.Figure(result.PacketsPerBusyCore)),
		whole(c.Figure(result.DevicePacketCost)), whole(c.Figure(result.DeviceCycles)), share(c.Figure(result.Loss)),
		millions(c.Ceiling10G), share(c.Figure(result.LineShare10G)), millions(c.Ceiling40G), share(c.Figure(result.LineShare40G)),
	}
}

// lineNotes say at which point frames are compared with a link, and why figures are missing.
func lineNotes(f analysis.Findings, published bool) []string {
	notes := []string{"The Mpps under 10 and 40 GbE are what such a link carries of these frames in one direction at the fabric: with FCS, preamble, gap and what the encapsulation adds. The % are received frames, the mean over the directions."}
	for _, c := range f.Cells {
		if c.Figure(result.DeviceCycles).Known() {
			notes = append(notes, "Cycles are those of the time stamp counter, in which the cores that only forward were not idle.")
			break
		}
	}
	if published {
		notes = append(notes, "The published % compare the sum of all receivers with the line rate of one direction.")
	}
	notes = append(notes, together(f, busyBy)...)
	return append(notes, together(f, func(c analysis.Cell) []string {
		if says := stages(c); says != "" {
			return []string{says}
		}
		if figure := c.Figure(result.DevicePacketCost); c.Framed() && !figure.Known() {
			return []string{"no cost of a packet: " + figure.Reason}
		}
		return nil
	})...)
}

// deviceSources in words.
var deviceSources = map[result.DeviceSource]string{
	result.DevicePolls:    "the rounds over its ports that found packets, by its own count",
	result.DeviceReceives: "the time of the kernel threads that receive for its interfaces (NAPI), by their own clocks",
	result.DeviceCPU:      "all that its CPUs did, whoever's work it was",
}

// busyBy says what counts as a busy core, where there is a cost of packets.
func busyBy(c analysis.Cell) []string {
	if !c.Framed() || !c.Figure(result.DevicePacketCost).Known() {
		return nil
	}
	var says []string
	for _, source := range c.DeviceSources {
		says = append(says, deviceSources[source])
	}
	if len(says) == 0 {
		return nil
	}
	return []string{"busy counts " + strings.Join(says, ", or of other trials ")}
}

// stages are a packet's cycles by stage, the most first.
func stages(c analysis.Cell) string {
	names := slices.SortedFunc(maps.Keys(c.Stages), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Stages[b].Mean, c.Stages[a].Mean), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = name + " " + whole(c.Stages[name])
	}
	if len(names) == 0 {
		return ""
	}
	return "cycles of a received packet by stage, of some rounds: " + strings.Join(names, ", ")
}

func hasPublishedPackets(f analysis.Findings) bool {
	for _, c := range f.Cells {
		if len(publishedPackets(c.Spec)) > 0 {
			return true
		}
	}
	return false
}

// publishedPackets are the source's figures of a cell's packets, as they are printed.
func publishedPackets(spec result.Cell) map[result.Metric]string {
	given := map[result.Metric]string{}
	if v, is := spec.Published[result.ReceivedPacketRate]; is {
		given[result.ReceivedPacketRate] = fmt.Sprintf("%.3g", v/1e6)
	}
	if v, is := spec.Published[result.LineShare10G]; is {
		given[result.LineShare10G] = fmt.Sprintf("%.3g", v)
	}
	return given
}

// millions has three digits.
func millions(f result.Figure) string {
	if !f.Known() {
		return dash
	}
	return fmt.Sprintf("%.3g", f.Mean/1e6)
}
