package report

import (
	"strings"
	"testing"

	"windtunnel/analysis"
	"windtunnel/result"
)

// TestCellsWithoutAPlaceAreNamed: a load that cannot be told a rate is at the ceiling, and in no row of the table.
func TestCellsWithoutAPlaceAreNamed(t *testing.T) {
	g := analysis.SharedCeiling{Cells: []string{"A", "B", "C"}, Share: 0.8, BitsPerSecond: 6e8, Ranked: []analysis.AtRate{{Cell: "A"}, {Cell: "C"}}}
	notes := ceilings(analysis.Findings{Ceilings: []analysis.SharedCeiling{g}}).notes
	if !strings.Contains(notes[0], "not measured at that rate: B.") {
		t.Error(notes)
	}
}

// TestWhatRatesAtACeilingTell: those of cells that fill a CPU, or keep their threads busy, are their own.
func TestWhatRatesAtACeilingTell(t *testing.T) {
	for kind, want := range map[string]string{
		result.CeilingShaper: "compare it with itself", result.CeilingCPU: "what a KiB costs it", result.CeilingThread: "what a KiB costs them",
	} {
		g := analysis.SharedCeiling{Ceiling: result.Ceiling{Kind: kind}, Cells: []string{"A", "B"}, Reason: "no time"}
		if notes := ceilings(analysis.Findings{Ceilings: []analysis.SharedCeiling{g}}).notes; !strings.Contains(notes[0], want) {
			t.Errorf("%s: %s", kind, notes[0])
		}
	}
}
