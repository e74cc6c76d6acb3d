package run

import (
	"testing"

	"windtunnel/result"
)

// TestACalibrationDoesNotTurnATrialRound: what flows back has its sender at the other
// end, also where this end's generator is known.
func TestACalibrationDoesNotTurnATrialRound(t *testing.T) {
	p := planned(t, "udp", twoHosts(), Settings{})
	c := Conductor{Plan: p, series: newSeries(p), generators: map[string]float64{}, Nodes: []Node{&hanging{name: "a"}, &hanging{name: "b"}}}
	cell := p.Runnable()[0]
	c.generators[c.generatorKey(cell)] = 1e6
	trial := cell.trial(c.Plan.Times)
	trial.Pairs = []result.PairSample{{
		Sender:   result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: 50_000, Bytes: 70e6, Arrived: &result.Arrived{Expected: 100_000, Lost: 50_000}},
		Receiver: result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: 100_000, Bytes: 140e6, CPUSeconds: 1, Offered: &result.Offered{}},
	}}
	c.judge(cell, &trial)
	pair := trial.Pairs[0]
	if got := pair.Receivers()[0].Packets; got != 50_000 || pair.Limit.Verdict != result.PathLimited {
		t.Errorf("%d packets received, %+v", got, pair.Limit)
	}
}
