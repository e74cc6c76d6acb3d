package report

import (
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// packets is what became of numbered packets: datagrams and frames.
func packets(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true},
		{"packets/s", "sent", false}, {"packets/s", "received", false}, {"packets/s", "± %", false},
		{"% of those expected", "lost", false}, {"% of those expected", "late", false}, {"% of those expected", "reordered", false},
		{"% of those expected", "duplicate", false}, {"% of those expected", "corrupt", false},
		{"jitter", "µs", false},
		{"CPU, ns per packet", "sender", false}, {"CPU, ns per packet", "receiver", false},
	}}
	s := section{heading: "Packets", table: t}
	for _, c := range f.Cells {
		if !c.Packets() || c.Latencies() {
			continue
		}
		received := c.Figure(result.ReceivedPacketRate)
		t.rows = append(t.rows, []string{
			c.Spec.Name, thousands(c.Figure(result.SentPacketRate)), thousands(received), spread(received),
			share(c.Figure(result.Loss)), share(c.Figure(result.LatePackets)), share(c.Figure(result.Reordered)),
			share(c.Figure(result.Duplicates)), share(c.Figure(result.Corrupt)), micros(c.Figure(result.Jitter)),
			whole(c.Figure(result.SenderPacketCost)), whole(c.Figure(result.ReceiverPacketCost)),
		})
	}
	if len(t.rows) == 0 {
		return section{}
	}
	s.notes = together(f, func(c analysis.Cell) []string { return c.Methods })
	return s
}

// together writes what is said of cells, each saying once with all of its cells.
func together(f analysis.Findings, says func(analysis.Cell) []string) []string {
	var order, notes []string
	of := map[string][]string{}
	for _, c := range f.Cells {
		text := strings.Join(says(c), "; ")
		if text == "" {
			continue
		}
		if of[text] == nil {
			order = append(order, text)
		}
		of[text] = append(of[text], c.Spec.Name)
	}
	for _, text := range order {
		notes = append(notes, strings.Join(of[text], ", ")+": "+text)
	}
	return notes
}

const latencyHeading = "Latency"

// latencies is how long requests took: those of the load, and those of a probe
// beside it.
func latencies(f analysis.Findings) section {
	t := &table{columns: []column{{name: "cell", text: true}, {name: "by", text: true}, {"requests", "per s", false}}}
	for _, q := range analysis.Quantiles {
		t.columns = append(t.columns, column{"µs from the intended time", q, false})
	}
	t.columns = append(t.columns,
		column{"µs from the actual time", "p50", false}, column{"µs from the actual time", "p99", false}, column{"µs from the actual time", "max", false},
		column{"CPU, ns per request", "sender", false}, column{"CPU, ns per request", "receiver", false})
	for _, c := range f.Cells {
		if c.Latencies() {
			t.rows = append(t.rows, latencyRow(c, "load", thousands(c.Figure(result.TransactionRate)),
				func(q string) result.Metric { return result.Latency(result.LatencyIntended, q) },
				micros(c.Figure(result.Latency(result.LatencyActual, "p50"))), micros(c.Figure(result.Latency(result.LatencyActual, "p99"))), micros(c.Figure(result.Latency(result.LatencyActual, "max"))),
				whole(c.Figure(result.SenderPacketCost)), whole(c.Figure(result.ReceiverPacketCost))))
		}
		if c.LatencyBeside() {
			t.rows = append(t.rows, latencyRow(c, "beside", dash, result.BesideLatency, dash, dash, dash, dash, dash))
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{heading: latencyHeading, table: t, notes: pauses(f)}
}

// pauses tell of what polls and yet sleeps, where there are latencies.
func pauses(f analysis.Findings) []string {
	return together(f, func(c analysis.Cell) []string {
		pause := c.Spec.Layout[result.LayoutPause]
		if pause == "" || !c.Latencies() && !c.LatencyBeside() && c.Latency == nil {
			return nil
		}
		return []string{"what polls in this path shares its CPU, and sleeps " + pause + " at a time once it has found nothing for a thousand rounds: these times have that in them"}
	})
}

func latencyRow(c analysis.Cell, requests, rate string, of func(quantile string) result.Metric, actual ...string) []string {
	row := []string{c.Spec.Name, requests, rate}
	for _, q := range analysis.Quantiles {
		row = append(row, micros(c.Figure(of(q))))
	}
	return append(row, actual...)
}
