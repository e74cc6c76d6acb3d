package report

import (
	"maps"
	"slices"

	"windtunnel/analysis"
	"windtunnel/result"
)

// fingerprints is what the nodes were, a row a property: in one column, where they are the same, as nodes on one machine are.
func fingerprints(f analysis.Findings) section {
	s := section{heading: "Fingerprint", long: true, notes: made(f)}
	nodes := f.Run.Nodes
	t := &table{columns: []column{{name: "property", text: true}}}
	if len(nodes) > 1 && !slices.ContainsFunc(nodes[1:], func(n result.RunNode) bool {
		return !maps.Equal(n.Fingerprint, nodes[0].Fingerprint) || n.Host != nodes[0].Host
	}) {
		nodes = nodes[:1]
		t.columns = append(t.columns, column{name: "every node", text: true})
	} else {
		for _, n := range nodes {
			t.columns = append(t.columns, column{name: nodeName(n), text: true})
		}
	}
	var keys []string
	for _, n := range nodes {
		keys = slices.AppendSeq(keys, maps.Keys(n.Fingerprint))
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		row := []string{key}
		for _, n := range nodes {
			row = append(row, orDash(n.Fingerprint[key]))
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) > 0 {
		s.table = t
	}
	return s
}

func nodeName(n result.RunNode) string {
	if n.Host == "" {
		return "node " + n.Name
	}
	return "node " + n.Name + " (" + n.Host + ")"
}

// made says by which version the run was made, and of which document its suite is. What that one's machine had, and this one
// has not, is among the doubts.
func made(f analysis.Findings) []string {
	var notes []string
	if f.Run.Version != "" {
		notes = append(notes, "Measured by windtunnel "+f.Run.Version+".")
	}
	if f.Run.Source != "" {
		notes = append(notes, "The suite reproduces "+f.Run.Source+".")
	}
	return notes
}
