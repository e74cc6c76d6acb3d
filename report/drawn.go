package report

import (
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// topologies are the drawings of the cells, as the plan has them.
func topologies(f analysis.Findings) section {
	return drawn("Topologies", f, func(c result.Cell) string { return c.Topology })
}

// configurations are what the cells' paths ran, in full: a peer is compared as it was
// configured, and a reader may know better.
func configurations(f analysis.Findings) section {
	return drawn("Configurations", f, func(c result.Cell) string { return c.Configuration })
}

// engines are what container engines made by themselves.
func engines(f analysis.Findings) section {
	return drawn("Container engines", f, func(c result.Cell) string { return c.Engines })
}

// drawn has a text of each cell that has one.
func drawn(heading string, f analysis.Findings, of func(result.Cell) string) section {
	s := section{heading: heading, long: true}
	for _, c := range f.Cells {
		if text := of(c.Spec); strings.TrimSpace(text) != "" {
			s.texts = append(s.texts, verbatim{strings.TrimSpace(c.Spec.Name + " " + c.Spec.Says), strings.TrimRight(text, "\n")})
		}
	}
	return s
}
