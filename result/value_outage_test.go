package result

import (
	"math"
	"strings"
	"testing"
)

func outageTrial(lost, expected uint64, pulled, all uint64, flows int) Trial {
	offered := &Offered{TargetPacketsPerSecond: 1000}
	return Trial{
		Pairs: []PairSample{{
			Sender: PairEnd{WindowSeconds: 2, Offered: offered, Packets: expected, Bytes: 1},
			Receiver: PairEnd{WindowSeconds: 2, Arrived: &Arrived{Expected: expected, Lost: lost + 5, Flows: flows},
				Intervals: []Interval{{From: -0.2, To: 0, Lost: 7}, {From: 0, To: 0.4, Lost: 5}, {From: 0.4, To: 0.6, Lost: lost}, {From: 1.9, To: 2}}},
		}},
		Nodes: map[string]NodeSample{
			"a": {Links: []LinkSample{{Device: "nic0", Role: RoleWire, TxPackets: pulled}, {Device: "nic1", Role: RoleWire, TxPackets: all - pulled}}},
			"b": {Pulls: []Pull{{Link: "wire", Device: "nic0", From: 0.5, To: 1.5}}, Links: []LinkSample{{Device: "nic0", Role: RoleWire, TxPackets: 3}}},
		},
	}
}

func TestOutage(t *testing.T) {
	seconds, resolution, pulled, err := outageTrial(150, 2000, 600, 2000, 1).Outage()
	if err != nil || math.Abs(seconds-0.15) > 1e-9 || math.Abs(resolution-0.001) > 1e-9 || pulled != 1 {
		t.Errorf("%g %g %g %v", seconds, resolution, pulled, err)
	}
	// A sender that fell short of its rate makes the outage no shorter.
	if seconds, _, _, _ := outageTrial(150, 1000, 600, 1000, 1).Outage(); math.Abs(seconds-0.3) > 1e-9 {
		t.Errorf("%g", seconds)
	}
	noisy := outageTrial(150, 2000, 600, 2000, 1)
	noisy.Pairs[0].Receiver.Arrived.Lost += 100
	plain := outageTrial(150, 2000, 600, 2000, 1)
	plain.Nodes["b"] = NodeSample{}
	unrated := outageTrial(150, 2000, 600, 2000, 1)
	unrated.Pairs[0].Sender.Offered = &Offered{}
	for want, trial := range map[string]Trial{
		"not pulled":             outageTrial(0, 2000, 0, 2000, 1),
		"no cable was pulled":    plain,
		"the cable was in, too":  noisy,
		"one flow":               unrated,
		"one flow of datagrams":  outageTrial(1, 2000, 600, 2000, 4),
		"no packet was expected": outageTrial(0, 0, 600, 2000, 1),
	} {
		if _, _, _, err := trial.Outage(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
