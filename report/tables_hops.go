package report

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// hops is where the packets of each cell were counted, in the order of their way.
func hops(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "node", text: true}, {name: "counted by", text: true},
		{"packets in a trial", "received", false}, {"packets in a trial", "sent", false}, {"packets in a trial", "dropped", false},
		{"packets in a trial", "unaccounted", false}, {name: "dropped as", text: true},
	}}
	known := slices.ContainsFunc(f.Cells, func(c analysis.Cell) bool {
		return slices.ContainsFunc(c.Hops, func(h analysis.Hop) bool { return h.Settings != nil })
	})
	if known {
		t.columns = append(t.columns, column{name: "set to", text: true})
	}
	for _, c := range f.Cells {
		for _, h := range c.Hops {
			row := hopRow(c.Spec.Name, h)
			if known {
				row = append(row, h.SettingsWords())
			}
			t.rows = append(t.rows, row)
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	s := section{heading: "Packets, hop by hop", long: true, table: t, items: accounts(f), notes: []string{
		"From the senders to the receivers, a trial's means. Each place counts packets as it sees them: one that is cut or joined on its way (TSO, GRO) is one there and several elsewhere, and traffic in both directions is counted.",
		"What a switch received, it sent on or dropped by a name; the rest is unaccounted. An interface counts each direction for itself, and a packet that is lost between two of them may be a drop of both.",
	}}
	if known {
		s.notes = append(s.notes, "What an interface is set to is what the kernel said of it before the last trial's window, whatever was asked for: its MTU, and the offloads that are on.")
	}
	return s
}

// accounts say of numbered packets what became of all of them.
func accounts(f analysis.Findings) []item {
	var items []item
	for _, c := range f.Cells {
		a := c.Account
		if a == nil {
			continue
		}
		text := fmt.Sprintf("of %s packets expected in a trial, %s were received, %s were lost", packetCount(a.Expected), packetCount(a.Received), packetCount(a.Lost))
		if a.Late > 0 {
			text += ", " + packetCount(a.Late) + " came late"
		}
		if a.Lost > 0 {
			text += "; counters name " + dropped(c) + " drops"
		}
		items = append(items, item{name: c.Spec.Name, says: text})
	}
	return items
}

// dropped is how many drops the counters of a cell name in a trial.
func dropped(c analysis.Cell) string {
	sum := 0.0
	for _, figure := range c.Drops {
		sum += figure.Mean
	}
	return packetCount(sum)
}

func hopRow(cell string, h analysis.Hop) []string {
	row := []string{cell, h.Node, string(h.Kind) + " " + h.Place, packetCount(h.Received), packetCount(h.Sent), dash, dash, ""}
	var names []string
	sum := 0.0
	for name, n := range h.Drops {
		names = append(names, name+" "+packetCount(n))
		sum += n
	}
	slices.Sort(names)
	row[7] = strings.Join(names, ", ")
	switch h.Kind {
	case analysis.HopSender:
		row[3] = dash
	case analysis.HopReceiver:
		row[4], row[5] = dash, packetCount(sum)
	case analysis.HopInterface:
		row[5] = packetCount(sum)
	case analysis.HopSwitch:
		row[5] = packetCount(sum)
		if h.Received > 0 { // else it saw none, or does not count all
			row[6] = packetCount(h.Unaccounted())
		}
	}
	return row
}

// packetCount is the mean of whole numbers, in full.
func packetCount(n float64) string {
	if n != 0 && n < 10 && n > -10 {
		return oneDecimal(result.Figure{Mean: n, N: 1})
	}
	return fmt.Sprintf("%.0f", n)
}
