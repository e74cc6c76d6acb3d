package report

import (
	"slices"
	"testing"

	"windtunnel/analysis"
	"windtunnel/result"
)

func TestQueuesTable(t *testing.T) {
	f := analysis.Findings{Cells: []analysis.Cell{
		{Spec: result.Cell{Name: "plain"}, Status: analysis.Measured},
		{Spec: result.Cell{Name: "V", Queueing: &result.Queueing{VMQ: true, Send: true}}, Status: analysis.Measured,
			Queues: []analysis.Queues{{Node: "b", Queues: []float64{0.01, 0.99}, CPUs: nil}}},
		{Spec: result.Cell{Name: "S", Queueing: &result.Queueing{}}, Status: analysis.Skipped},
	}}
	s := queues(f)
	want := []string{"V", "VMQ on, spread send", "b", "1/99", dash}
	if len(s.table.rows) != 1 || !slices.Equal(s.table.rows[0], want) {
		t.Errorf("%v", s.table.rows)
	}
	if queues(analysis.Findings{}).table != nil {
		t.Error("a table of nothing")
	}
}
