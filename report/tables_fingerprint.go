package report

import (
	"slices"

	"windtunnel/analysis"
)

// fingerprints is what the nodes were, a row a property, and what the source had.
func fingerprints(f analysis.Findings) section {
	t := &table{columns: []column{{name: "property", text: true}}}
	var keys []string
	for _, n := range f.Run.Nodes {
		name := "node " + n.Name
		if n.Host != "" {
			name += " (" + n.Host + ")"
		}
		t.columns = append(t.columns, column{name: name, text: true})
		for key := range n.Fingerprint {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		row := []string{key}
		for _, n := range f.Run.Nodes {
			row = append(row, orDash(n.Fingerprint[key]))
		}
		t.rows = append(t.rows, row)
	}
	s := section{heading: "Fingerprint", long: true, notes: made(f)}
	if len(t.rows) > 0 {
		s.table = t
	}
	return s
}

// made says by which version the run was made, and what its source document had.
func made(f analysis.Findings) []string {
	var notes []string
	if f.Run.Version != "" {
		notes = append(notes, "Measured by windtunnel "+f.Run.Version+".")
	}
	if f.Run.Source != "" {
		notes = append(notes, "The suite reproduces "+f.Run.Source+".")
	}
	var had []string
	for what, value := range f.Run.Assumed {
		had = append(had, what+": "+value)
	}
	slices.Sort(had)
	for _, one := range had {
		notes = append(notes, "The source's machine had "+one+".")
	}
	return notes
}
