package report

import (
	"strings"
	"testing"

	"windtunnel/analysis"
)

// TestCellsWithoutAPlaceAreNamed: a load that cannot be told a rate is at the ceiling, and in no row of the table.
func TestCellsWithoutAPlaceAreNamed(t *testing.T) {
	g := analysis.SharedCeiling{Cells: []string{"A", "B", "C"}, Share: 0.8, BitsPerSecond: 6e8, Ranked: []analysis.AtRate{{Cell: "A"}, {Cell: "C"}}}
	notes := ceilings(analysis.Findings{Ceilings: []analysis.SharedCeiling{g}}).notes
	if !strings.Contains(notes[0], "not measured at that rate: B.") {
		t.Error(notes)
	}
}
