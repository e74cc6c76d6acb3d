package report

import (
	"strings"

	"windtunnel/analysis"
)

// generators are the programs of others that made loads, with their command lines: the
// figures of such a cell are what the program told.
func generators(f analysis.Findings) section {
	var s section
	for _, c := range f.Cells {
		for _, g := range c.Generators {
			told := strings.TrimSpace(g.Name + " " + g.Version)
			if g.Command != "" { // which the files of other tools do not tell
				told += ": " + g.Command
			}
			s.notes = append(s.notes, c.Spec.Name+", "+g.End+": "+told)
		}
	}
	if len(s.notes) == 0 {
		return section{}
	}
	s.heading = "Programs of others that made loads, and told of them"
	return s
}
