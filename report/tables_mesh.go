package report

import (
	"fmt"

	"windtunnel/analysis"
	"windtunnel/result"
)

// matrices have one table for each cell whose pairs are a mesh: senders by receivers.
func matrices(f analysis.Findings) []section {
	var all []section
	for _, c := range f.Cells {
		if m := c.Mesh(); len(m.From) > 0 && c.Status == analysis.Measured {
			all = append(all, matrix(c, m))
		}
	}
	return all
}

func matrix(c analysis.Cell, m analysis.Mesh) section {
	t := &table{columns: []column{{name: "from", text: true}}}
	for _, to := range m.To {
		t.columns = append(t.columns, column{"to", to, false})
	}
	what, of := "received, Mbit/s", func(p analysis.Pair) string { return withSpread(megabits(p.Received), p.Received) }
	if c.Latencies() {
		what, of = "median latency, us", func(p analysis.Pair) string { return withSpread(micros(p.Latency), p.Latency) }
	}
	for i, from := range m.From {
		row := []string{from}
		for _, at := range m.At[i] {
			cell := ""
			if at >= 0 {
				cell = of(c.Pairs[at])
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	return section{heading: fmt.Sprintf("Each pair of %s: %s", c.Spec.Name, what), table: t,
		notes: []string{"All pairs ran at once. ± is half of the interval."}}
}

// withSpread adds to a figure how sure it is.
func withSpread(text string, f result.Figure) string {
	if s := spread(f); s != dash {
		return text + " ± " + s + " %"
	}
	return text
}
