package analysis

import (
	"testing"

	"windtunnel/result"
)

func TestOutages(t *testing.T) {
	n := 0
	f := run(6, func(t *result.Trial) {
		if t.Cell != "B" {
			return
		}
		n++
		on, lost := uint64(300), uint64(200)
		if n == 1 {
			on, lost = 0, 0 // the flow was on the other link
		}
		if n == 2 {
			lost = 500 // until the cable was back
		}
		t.Pairs[0].Sender.Offered = &result.Offered{TargetPacketsPerSecond: 1000}
		t.Pairs[0].Receiver.Arrived = &result.Arrived{Expected: 1000, Lost: lost, Flows: 1}
		t.Pairs[0].Receiver.Intervals = []result.Interval{{From: 0.5, To: 0.6, Lost: lost}}
		t.Nodes["a"] = result.NodeSample{WindowSeconds: 1, Links: []result.LinkSample{{Device: "nic0", Role: result.RoleWire, TxPackets: on}, {Device: "nic1", Role: result.RoleWire, TxPackets: 1000 - on}}}
		t.Nodes["b"] = result.NodeSample{WindowSeconds: 1, Pulls: []result.Pull{{Device: "nic0", From: 0.25, To: 0.75}}}
	})
	findings := Of(f)
	b, _ := findings.Cell("B")
	if want := (Outage{Trials: 6, Hit: 5, ResolutionSeconds: 0.001, PulledSeconds: 0.5, Whole: 1}); b.Outage == nil || *b.Outage != want {
		t.Errorf("%+v", b.Outage)
	}
	if figure := b.Figure(result.OutageTime); figure.N != 5 || figure.Mean < 0.2 || figure.Mean > 0.3 {
		t.Errorf("%+v", figure)
	}
	doubted := false
	for _, d := range findings.Doubts {
		doubted = doubted || d.Kind == "outage" && d.Cell == "B"
	}
	if a, _ := findings.Cell("A"); a.Outage != nil || !doubted {
		t.Errorf("%+v, doubted %v", a.Outage, doubted)
	}
}
