package report

import (
	"fmt"

	"windtunnel/analysis"
	"windtunnel/result"
)

// outages is what pulled cables cost.
func outages(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {"outage", "ms", false}, {"outage", "± %", false},
		{"to within", "ms", false}, {"cable out for", "ms", false}, {"trials", "hit", false}, {"trials", "all", false},
	}}
	s := section{heading: "Pulled cables", table: t}
	for _, c := range f.Cells {
		o := c.Outage
		if o == nil {
			continue
		}
		figure := c.Figure(result.OutageTime)
		row := []string{c.Spec.Name, dash, dash, dash, dash, fmt.Sprint(o.Hit), fmt.Sprint(o.Trials)}
		if figure.Known() {
			row[1], row[2] = milliseconds(figure.Mean), spread(figure)
			row[3], row[4] = milliseconds(o.ResolutionSeconds), milliseconds(o.PulledSeconds)
		} else {
			s.notes = append(s.notes, c.Spec.Name+": no result: "+figure.Reason)
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) == 0 {
		return section{}
	}
	s.notes = append(s.notes, "An outage is what was lost of a flow of datagrams from the pull until the cable was back, over its rate, in the trials whose flow was on the pulled link and lost next to nothing before and after. The cable is pulled at the receiver's node; the sender learns it by its link's carrier.")
	return s
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.4g", 1e3*seconds) }
