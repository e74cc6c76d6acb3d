package report

import (
	"fmt"

	"windtunnel/analysis"
	"windtunnel/result"
)

// latenciesAt is how long frames were on their way at a share of the rate that arrived.
func latenciesAt(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "Mpps"}, {name: "% of the rate"}, {name: "lost %"},
		{"µs", "p50", false}, {"µs", "p90", false}, {"µs", "p99", false}, {"µs", "max", false},
	}}
	s := section{heading: "Latency at half the rate", table: t}
	for _, c := range f.Cells {
		if c.Latency == nil {
			continue
		}
		at := c.Latency.At
		if at.Reason != "" {
			s.notes = append(s.notes, c.Spec.Name+": no result: "+at.Reason)
			continue
		}
		row := []string{c.Spec.Name, millions(result.Figure{Mean: at.Load, N: 1}), fmt.Sprintf("%.0f", 100*at.Share), share(result.Figure{Mean: 100 * at.LossRatio, N: 1})}
		for _, quantile := range []string{"p50", "p90", "p99", "max"} {
			row = append(row, micros(at.Seconds[quantile]))
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) == 0 {
		s.table = nil
		return s
	}
	s.notes = append(s.notes, "From when a frame left to when it was counted, of all directions together, each time to within an eighth. Frames leave in bursts where two senders have one CPU in turn, and then wait for each other.")
	s.notes = append(s.notes, pauses(f)...)
	return s
}
