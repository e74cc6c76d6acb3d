package run

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestACalibrationDoesNotTurnATrialRound: what flows back has its sender at the other
// end, also where this end's generator is known.
func TestACalibrationDoesNotTurnATrialRound(t *testing.T) {
	p := planned(t, "udp", twoHosts(), Settings{})
	c := Conductor{Plan: p, series: newSeries(p), generators: map[string]float64{}, Nodes: []Node{&hanging{name: "a"}, &hanging{name: "b"}}}
	cell := p.Runnable()[0]
	c.generators[c.generatorAt(cell, cell.Record.Pairs[0].From)] = 1e6
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

// TestFramesByAPacketSocketAreJudgedUncalibrated: what is known of their generator are live frames.
func TestFramesByAPacketSocketAreJudgedUncalibrated(t *testing.T) {
	p := planned(t, "udp", twoHosts(), Settings{})
	c := Conductor{Plan: p, series: newSeries(p), generators: map[string]float64{}, Nodes: []Node{&hanging{name: "a"}, &hanging{name: "b"}}}
	cell := p.Runnable()[0]
	c.generators[c.generatorAt(cell, cell.Record.Pairs[0].From)] = 20e6
	for method, want := range map[string]string{traffic.PacketSocket: result.GeneratorLimited, "xdp-live-frames": result.PathLimited} {
		trial := cell.trial(c.Plan.Times)
		sender := result.PairEnd{WindowSeconds: 1, Threads: 1, CPUSeconds: 1, Packets: 1e6, Bytes: 64e6, Offered: &result.Offered{Method: method}}
		trial.Pairs = []result.PairSample{{Sender: sender, Receiver: result.PairEnd{WindowSeconds: 1, Packets: 1e6, Bytes: 64e6, Arrived: &result.Arrived{Expected: 1e6}}}}
		c.judge(cell, &trial)
		if got := trial.Pairs[0].Limit; got.Verdict != want {
			t.Errorf("%s: %+v, want %s", method, got, want)
		}
	}
}

// TestTheFarEndIsCalibratedWhereItSends: what flows back is judged by the generator of the host that sends it.
func TestTheFarEndIsCalibratedWhereItSends(t *testing.T) {
	p := planned(t, "udp", twoHosts(), Settings{})
	near, far := &calibrating{modelled{hanging{name: "a"}, "slow"}, 1e6}, &calibrating{modelled{hanging{name: "b"}, "fast"}, 2e6}
	c := Conductor{Plan: p, series: newSeries(p), Nodes: []Node{near, far}, generators: map[string]float64{}}
	cell := p.Runnable()[0]
	seconds := p.Times.WindowSeconds
	moved := func(perSecond float64) result.PairEnd {
		return result.PairEnd{WindowSeconds: seconds, Threads: 1, Packets: uint64(perSecond * seconds), Bytes: uint64(1400 * perSecond * seconds)}
	}
	sent := func(perSecond float64) result.PairEnd {
		end := moved(perSecond)
		end.CPUSeconds, end.Offered = seconds, &result.Offered{}
		return end
	}
	opposed := func(end, opposite result.PairEnd) result.PairEnd {
		end.Opposite = &opposite
		return end
	}
	for direction, pair := range map[string]result.PairSample{
		"reverse": {Sender: moved(1.9e6), Receiver: sent(1.9e6)},
		"both":    {Sender: opposed(sent(0.1e6), moved(1.9e6)), Receiver: opposed(moved(0.1e6), sent(1.9e6))},
	} {
		cell.Record.Load = result.Options{"direction": direction}
		for _, place := range sendersOf(cell, 0) {
			c.generators[c.generatorAt(cell, place)], _ = c.node(place.Node).Calibrate(t.Context(), "", "", Order{})
		}
		trial := cell.trial(c.Plan.Times)
		trial.Pairs = []result.PairSample{pair}
		c.judge(cell, &trial)
		ways := trial.Pairs[0].Ways()
		if back := ways[len(ways)-1]; !back.Back || back.Sender.Offered.CalibratedPerSecond != 2e6 || trial.Pairs[0].Limit.Verdict != result.GeneratorLimited {
			t.Errorf("%s: %+v, %+v", direction, back.Sender.Offered, *trial.Pairs[0].Limit)
		}
	}
}

// calibrating is one that tells how fast its generator is.
type calibrating struct {
	modelled
	perSecond float64
}

func (c *calibrating) Calibrate(context.Context, string, string, Order) (float64, error) {
	return c.perSecond, nil
}

// modelled is a node on a machine of some model.
type modelled struct {
	hanging
	model string
}

func (m *modelled) Fingerprint() result.Fingerprint {
	return result.Fingerprint{"cpu.model": m.model, "kernel.release": "6.1"}
}

// TestEachHostHasAGeneratorOfItsOwn: what a fast one reaches is no calibration of a slow one that sends to the same third.
func TestEachHostHasAGeneratorOfItsOwn(t *testing.T) {
	host := Host{Nodes: map[string]Host{}}
	for i, name := range []string{"a", "b", "c"} {
		host.Nodes[name] = Host{CPUs: []int{0, 1}, MemoryBytes: 8 << 30, Kernel: "6.1.0", NIC: &NIC{Device: "eth1", Address: fmt.Sprintf("10.0.0.%d/24", i+1)}}
	}
	p := planned(t, "mesh", host, Settings{})
	store := traffic.Calibrations{Path: filepath.Join(t.TempDir(), "c.json")}
	c := Conductor{Plan: p, series: newSeries(p), generators: map[string]float64{}, Known: store,
		Nodes: []Node{&modelled{hanging{name: "a"}, "slow"}, &modelled{hanging{name: "b"}, "slow"}, &modelled{hanging{name: "c"}, "fast"}}}
	i := slices.IndexFunc(p.Runnable(), func(c PlannedCell) bool { return c.Record.Name == "into-one" })
	if i < 0 {
		t.Fatal("the suite has no cell into-one")
	}
	cell, seconds := p.Runnable()[i], p.Times.WindowSeconds
	var own []float64 // bytes a second, of each pair's sender
	trial := cell.trial(c.Plan.Times)
	trial.Pairs = nil
	for i, pair := range cell.Record.Pairs {
		alone := map[string]float64{"b": 1e9, "c": 2e9}[pair.From.Node]
		own = append(own, alone)
		c.generators[c.generatorAt(cell, cell.Record.Pairs[i].From)] = alone * 1.01
		end := result.PairEnd{WindowSeconds: seconds, Threads: 1, Bytes: uint64(alone * seconds)}
		busy := end
		busy.CPUSeconds, busy.Offered = seconds, &result.Offered{}
		trial.Pairs = append(trial.Pairs, result.PairSample{Sender: busy, Receiver: end})
	}
	if slices.Min(own) != 1e9 || slices.Max(own) != 2e9 {
		t.Fatalf("the senders reach %v", own)
	}
	for range 2 {
		c.judge(cell, &trial)
	}
	for i, p := range trial.Pairs {
		if p.Limit.Verdict != result.GeneratorLimited || p.Sender.Offered.CalibratedPerSecond != own[i]*1.01 {
			t.Errorf("pair %d: %+v, calibrated %g", i, *p.Limit, p.Sender.Offered.CalibratedPerSecond)
		}
	}
	if got, want := c.together(cell), 1.01*(own[0]+own[1]); len(own) == 2 && math.Abs(got-want) > 1 {
		t.Errorf("together they reach %g, want %g", got, want)
	}
}
