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
		{Spec: result.Cell{Name: "V", Queueing: &result.Queueing{VMQ: true, Send: true,
			Hosts: []result.HostQueueing{{Node: "b", Device: "eth1", Queues: 2, Receive: result.ReceiveByRules, Send: result.SendByXPS}}}}, Status: analysis.Measured,
			Queues: []analysis.Queues{{Node: "b", Queues: []float64{0.01, 0.99}, CPUs: nil}}},
		{Spec: result.Cell{Name: "S", Queueing: &result.Queueing{}}, Status: analysis.Skipped},
	}}
	s := queues(f)
	want := []string{"V", "VMQ on, spread send", "b", "1/99", dash}
	if len(s.table.rows) != 1 || !slices.Equal(s.table.rows[0], want) {
		t.Errorf("%v", s.table.rows)
	}
	if len(s.notes) != 2 || s.notes[1] != "In V on node b, eth1: receives by 2 queues by rules, sends by the queues it has by XPS." {
		t.Errorf("%q", s.notes)
	}
	if queues(analysis.Findings{}).table != nil {
		t.Error("a table of nothing")
	}
}
