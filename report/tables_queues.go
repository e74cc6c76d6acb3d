package report

import (
	"fmt"
	"strings"

	"windtunnel/analysis"
)

// queues is where packets were received, of cells that ask for receive queues or for spread work.
func queues(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "asked for", text: true}, {name: "node", text: true},
		{"received packets, %", "by queue of the wire", false}, {"received packets, %", "by CPU", false},
	}}
	var set []string
	for _, c := range f.Cells {
		if c.Status != analysis.Measured {
			continue
		}
		for _, q := range c.Queues {
			if how := c.Spec.Queueing.Set(q.Node); how != "" {
				set = append(set, fmt.Sprintf("In %s on node %s, %s.", c.Spec.Name, q.Node, how))
			}
			t.rows = append(t.rows, []string{c.Spec.Name, c.Spec.Queueing.Words(), q.Node, percentages(q.Queues), percentages(q.CPUs)})
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{heading: "Queues and CPUs", table: t, notes: append([]string{
		"By CPU are the packets that the node's network stack received, once at every device on their way; by queue those of a wire with several, as its driver counts them: with VMQ the first queue is for what has none of its own.",
	}, set...)}
}

// percentages writes shares of 1, a dash where they are not known.
func percentages(shares []float64) string {
	var all []string
	for _, s := range shares {
		all = append(all, fmt.Sprintf("%.0f", 100*s))
	}
	return orDash(strings.Join(all, "/"))
}
