package result

import (
	"math"
	"slices"
	"testing"
)

// TestLineRate: the figures that the field knows, and the ceilings of 64-byte frames in each
// encapsulation on 10 Gbit/s.
func TestLineRate(t *testing.T) {
	for name, c := range map[string]struct{ link, size, overhead, want float64 }{
		"10 GbE, 64":           {Ethernet10G, 64, 0, 14.88},
		"40 GbE, 64":           {Ethernet40G, 64, 0, 59.52},
		"10 GbE, 1518":         {Ethernet10G, 1518, 0, 0.813},
		"10 GbE, 64, MPLSoGRE": {Ethernet10G, 64, 28, 11.16},
		"10 GbE, 64, MPLSoUDP": {Ethernet10G, 64, 32, 10.78},
		"10 GbE, 64, VXLAN":    {Ethernet10G, 64, 50, 9.33},
	} {
		if got := LineRate(c.link, c.size, c.overhead) / 1e6; math.Abs(got-c.want) > 0.005 {
			t.Errorf("%s: %.3f Mpps, want %.2f", name, got, c.want)
		}
	}
}

// framed is a cell and its trial: frames of 64 bytes at the given rates, forth and back.
func framed(overhead string, rates ...float64) (Cell, Trial) {
	c := Cell{Layout: map[string]string{layoutOverhead: overhead}}
	t := Trial{Nodes: map[string]NodeSample{}}
	for i, rate := range rates {
		p := Pair{From: Place{Node: "a"}, To: Place{Node: "b"}}
		if i%2 == 1 {
			p.From, p.To = p.To, p.From
		}
		c.Pairs = append(c.Pairs, p)
		t.Pairs = append(t.Pairs, PairSample{Receiver: PairEnd{
			WindowSeconds: 2, Packets: uint64(2 * rate), Frames: &Frames{Size: 64}, Arrived: &Arrived{},
		}})
	}
	for cpu, name := range []string{"a", "b"} {
		t.Nodes[name] = NodeSample{WindowSeconds: 2, Hertz: 2e9, CPUs: []CPUSample{{CPU: cpu, Busy: 1}}}
	}
	return c, t
}

func expect(t *testing.T, c Cell, trial Trial, want map[Metric]float64) {
	t.Helper()
	for m, v := range want {
		got, err := c.Value(trial, m)
		if err != nil || math.Abs(got-v) > 0.005*math.Abs(v) {
			t.Errorf("%s: %g, %v, want %g", m, got, err, v)
		}
	}
}

// TestLineShare: the source's rates, of one direction, as it compares them; and both directions,
// each with a line of its own.
func TestLineShare(t *testing.T) {
	for rate, want := range map[float64]float64{0.56e6: 3.763, 4.0e6: 26.88, 14.88e6: 100} {
		c, trial := framed("0", rate)
		expect(t, c, trial, map[Metric]float64{LineShare10G: want, LineShare40G: want / 4})
	}
	c, trial := framed("32", 10.78e6, 5.39e6)
	expect(t, c, trial, map[Metric]float64{LineShare10G: 75})
	if ways := c.Directions(); len(ways) != 2 || ways[1].String() != "b to a" {
		t.Errorf("directions %v", ways)
	}
	if back, err := c.DirectionRate(trial, Direction{"b", "a"}); err != nil || back != 5.39e6 {
		t.Errorf("back %g, %v", back, err)
	}
	if _, err := c.DirectionRate(trial, Direction{"a", "c"}); err == nil {
		t.Error("a direction that there is not has a rate")
	}
	for i := range c.Pairs {
		c.Pairs[i] = Pair{From: Place{Node: "a", Container: "near"}, To: Place{Node: "a", Container: "far"}}
	}
	c.Pairs[1].From, c.Pairs[1].To = c.Pairs[1].To, c.Pairs[1].From
	if ways := c.Directions(); len(ways) != 2 || ways[0].String() != "near to far" {
		t.Errorf("directions on one node: %v", ways)
	}
	c.Layout = nil
	if _, err := c.Value(trial, LineShare10G); err == nil {
		t.Error("a share without knowing what wraps the frames")
	}
	trial.Pairs[0].Receiver.Frames, trial.Pairs[1].Receiver.Frames = nil, nil
	c.Layout = map[string]string{layoutOverhead: "0"}
	if _, err := c.Value(trial, LineShare10G); err == nil {
		t.Error("datagrams have a share of a line")
	}
}

// TestDevice: a core that polls tells its own busy cycles, CPUs that only forward are busy for
// it, and where generator and sink have the same CPUs there is no cost.
func TestDevice(t *testing.T) {
	c, trial := framed("0", 2e6)
	if _, err := c.Value(trial, DevicePacketCost); err == nil {
		t.Error("a cost where it cannot be told")
	}
	expect(t, c, trial, map[Metric]float64{PacketsPerCore: 1e6})
	c.Layout[LayoutDevice] = "1 2"
	if _, err := c.Value(trial, DevicePacketCost); err == nil {
		t.Error("a cost of CPUs that were not sampled")
	}
	c.Layout[LayoutDevice] = "1"
	expect(t, c, trial, map[Metric]float64{PacketsPerCore: 2e6, PacketsPerBusyCore: 4e6, DevicePacketCost: 250, DeviceCycles: 500})
	b := trial.Nodes["b"]
	if share, err := c.DeviceBusy(trial); err != nil || share != 0.5 || c.DeviceSource(trial) != DeviceCPU {
		t.Errorf("busy %g by %q, %v", share, c.DeviceSource(trial), err)
	}
	half := 0.25 * b.WindowSeconds
	b.CPUs = slices.Clone(b.CPUs)
	for i := range b.CPUs {
		b.CPUs[i].Receive = &half // of its CPU's time, half was others'
	}
	trial.Nodes["b"] = b
	expect(t, c, trial, map[Metric]float64{PacketsPerCore: 2e6, PacketsPerBusyCore: 8e6, DevicePacketCost: 125, DeviceCycles: 250})
	if share, err := c.DeviceBusy(trial); err != nil || share != 0.5 || c.DeviceSource(trial) != DeviceReceives {
		t.Errorf("busy %g by %q, %v", share, c.DeviceSource(trial), err)
	}
	b.Switches = []SwitchSample{{Polling: &Polling{Cores: 2, Busy: 8e9, Idle: 4e9, Hertz: 3e9}}}
	trial.Nodes["b"] = b
	expect(t, c, trial, map[Metric]float64{PacketsPerCore: 1e6, PacketsPerBusyCore: 1.5e6, DevicePacketCost: 666.7, DeviceCycles: 2000})
	b.Switches, b.Hertz = nil, 0
	trial.Nodes["b"] = b
	if _, err := c.Value(trial, DeviceCycles); err == nil {
		t.Error("cycles that nobody counted")
	}
}
