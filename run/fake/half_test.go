package fake_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/run"
	"windtunnel/run/fake"
	"windtunnel/testbed"
)

// framing is a run of frames at ports, flat out, of 64 bytes.
func framing(m *fake.Machine, budget time.Duration) (*records, result.End, error) {
	p := plan(1, budget, 0.05, over, "A", "B")
	for i := range p.Cells {
		p.Cells[i].Record.Traffic, p.Cells[i].Record.Load = "frame", result.Options{"size": int64(64)}
		p.Cells[i].Laid.Graph.Ports = []testbed.Port{{Name: "near"}, {Name: "far"}}
	}
	p.Loads = map[string][]result.Option{"frame": {{Name: "packets", Type: result.PacketRate}}}
	out := &records{}
	end, err := conduct(m, p, out, silent{})
	return out, end, err
}

// TestLatencyAtHalf: after the blocks, within the budget, each cell's frames tell their latency at half
// of what arrived; one whose frames do not says so.
func TestLatencyAtHalf(t *testing.T) {
	truth := fake.Truth{BitsPerSecond: 1e9, PacketBytes: 64, LatencySeconds: 20e-6}
	silent := truth
	silent.LatencyFails = true
	out, end, err := framing(fake.New(3, map[string]fake.Truth{"A": truth, "B": silent}, fake.Noise{Trial: 0.3}), 30*time.Second)
	if err != nil || end.Why != run.EndBudget || end.ElapsedSeconds > 30 || len(out.latencies) != 2 {
		t.Fatalf("%+v, %v, %+v", end, err, out.latencies)
	}
	a, b := out.latencies[0], out.latencies[1]
	mean := 0.0
	for _, trial := range out.trials {
		if trial.Cell == "A" {
			p := trial.Pairs[0].Receiver
			mean += float64(p.Packets) / p.WindowSeconds / float64(end.Blocks)
		}
	}
	if a.Cell != "A" || a.At.Share != 0.5 || math.Abs(a.At.Load/mean-0.5) > 0.05 || math.Abs(a.At.Seconds["p50"].Mean-20e-6) > 1e-6 {
		t.Errorf("%+v, flat out %g packets/s arrived", a, mean)
	}
	if b.Cell != "B" || !strings.Contains(b.At.Reason, "measures no latency") {
		t.Errorf("%+v", b)
	}
}

// TestLatencyIsLeftOut: where a fifth of the budget does not hold it.
func TestLatencyIsLeftOut(t *testing.T) {
	out, end, err := framing(fake.New(3, nil, fake.Noise{}), 8*time.Second)
	if err != nil || len(out.latencies) != 0 {
		t.Errorf("%+v, %v, %+v", end, err, out.latencies)
	}
}
