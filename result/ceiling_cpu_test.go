package result

import "testing"

// cpuTrial is a trial of a load from node a to node b whose busiest CPUs, and threads, are so busy.
func cpuTrial(busyA, busyB, threadA, threadB float64) Trial {
	end := func(busy float64) PairEnd {
		return PairEnd{WindowSeconds: 2, Bytes: 1e9, CPUSeconds: 2 * busy, Threads: 1}
	}
	node := func(first int, busy float64) NodeSample {
		return NodeSample{WindowSeconds: 2, CPUs: []CPUSample{{CPU: first, Busy: 0.2}, {CPU: first + 1, Busy: 2 * busy}}}
	}
	return Trial{Pairs: []PairSample{{Sender: end(threadA), Receiver: end(threadB)}},
		Nodes: map[string]NodeSample{"a": node(0, busyA), "b": node(2, busyB)}}
}

// TestAFullCPUIsACeiling: of the receiver before the sender, and only where it is what the rate ended at.
func TestAFullCPUIsACeiling(t *testing.T) {
	cell := func(change func(*Cell)) Cell {
		c := Cell{Pairs: []Pair{{From: Place{Node: "a"}, To: Place{Node: "b"}}}}
		change(&c)
		return c
	}
	plain := cell(func(*Cell) {})
	lost := cpuTrial(1, 0.5, 1, 0.3)
	lost.Pairs[0].Receiver.Bytes /= 2
	drowned := cpuTrial(1, 1, 1, 0.9)
	drowned.Pairs[0].Receiver.Bytes /= 2
	asked := cpuTrial(0.5, 0.97, 0.5, 0.5)
	asked.Pairs[0].Limit = &Limit{Verdict: RateReached}
	polled := cpuTrial(1, 1, 1, 1)
	polled.Pairs[0].Receiver.Cycles = &Cycles{}
	requests := cpuTrial(0.97, 0.97, 0.5, 0.5)
	requests.Pairs[0].Sender.Latencies = map[string]Histogram{LatencyActual: {}}
	untold := cpuTrial(0.5, 0.5, 1, 1)
	untold.Pairs[0].Receiver.Threads = 0
	for name, c := range map[string]struct {
		cell       Cell
		trial      Trial
		kind, node string
	}{
		"the receiver's":                          {plain, cpuTrial(0.99, 0.96, 0.5, 0.5), CeilingCPU, "b"},
		"the sender's":                            {plain, cpuTrial(0.96, 0.8, 0.9, 0.5), CeilingCPU, "a"},
		"none is full":                            {plain, cpuTrial(0.94, 0.94, 0.9, 0.9), "", ""},
		"a receiving thread that moves":           {plain, cpuTrial(0.6, 0.6, 0.5, 0.97), CeilingThread, "b"},
		"a sending thread that moves":             {plain, cpuTrial(0.6, 0.6, 0.97, 0.5), CeilingThread, "a"},
		"threads that are not counted":            {plain, untold, CeilingThread, "a"},
		"the sender's, and half of it is lost":    {plain, lost, "", ""},
		"the receiver's, and half of it is lost":  {plain, drowned, CeilingCPU, "b"},
		"the rate that was asked for":             {plain, asked, "", ""},
		"a worker that polls":                     {plain, polled, "", ""},
		"requests":                                {plain, requests, "", ""},
		"a load that polls":                       {cell(func(c *Cell) { c.Load = Options{"poll": "busy"} }), cpuTrial(1, 1, 1, 1), "", ""},
		"a load beside it":                        {cell(func(c *Cell) { c.Beside = "ping" }), cpuTrial(1, 1, 1, 1), "", ""},
		"a suspect that is tried":                 {cell(func(c *Cell) { c.Intervention = &Intervention{} }), cpuTrial(1, 1, 1, 1), "", ""},
		"it flows back":                           {cell(func(c *Cell) { c.Load = Options{"direction": "reverse"} }), cpuTrial(0.98, 0.8, 0.5, 0.5), CeilingCPU, "a"},
		"on one node":                             {cell(func(c *Cell) { c.Pairs[0].To.Node = "a" }), cpuTrial(0.98, 0, 0.5, 0.5), CeilingCPU, "a"},
		"on one node, and half of it is lost":     {cell(func(c *Cell) { c.Pairs[0].To.Node = "a" }), lost, "", ""},
		"its token bucket, though a CPU was full": {cell(func(c *Cell) { c.Wired = &WireSettings{BitsPerSecond: 1e9} }), bucketFull(), CeilingShaper, ""},
	} {
		at, is := c.cell.AtCeiling(nil, []Trial{c.trial, c.trial})
		if is != (c.kind != "") || at.Kind != c.kind || at.Node != c.node || is && (at.Says == "" || at.Seen == "") {
			t.Errorf("%s: %+v, %v; want %q of %q", name, at, is, c.kind, c.node)
		}
		if is && at.IsRate() != (at.BitsPerSecond > 0) {
			t.Errorf("%s: %+v", name, at)
		}
	}
	if at, is := plain.AtCeiling(nil, nil); is {
		t.Errorf("of no trials: %+v", at)
	}
}

func bucketFull() Trial {
	t := cpuTrial(1, 1, 1, 1)
	a := t.Nodes["a"]
	a.Links = []LinkSample{{Role: RoleWire, TxBytes: 250e6}}
	t.Nodes["a"] = a
	return t
}

// TestARateThatOnePairReached is none of the cell's: the other's pair is what the sum lacks.
func TestARateThatOnePairReached(t *testing.T) {
	c := Cell{Pairs: []Pair{{From: Place{Node: "a"}, To: Place{Node: "b"}}, {From: Place{Node: "a"}, To: Place{Node: "b"}}}}
	at := func(second string) bool {
		trial := cpuTrial(0.5, 0.5, 0.3, 0.3)
		trial.Pairs = append(trial.Pairs, trial.Pairs[0])
		for i, verdict := range []string{RateReached, second} {
			trial.Pairs[i].Sender.Offered = &Offered{TargetBitsPerSecond: 5e9}
			trial.Pairs[i].Limit = &Limit{Verdict: verdict}
		}
		ceiling, is := c.AtCeiling(nil, []Trial{trial})
		return is && ceiling.Kind == CeilingRate
	}
	if at(PathLimited) || !at(RateReached) {
		t.Errorf("one of two pairs: %t, both: %t", at(PathLimited), at(RateReached))
	}
}

// TestABucketFullOfSmallPackets: the ends of a virtual wire that aggregate count packets without their Ethernet headers, which the bucket
// counts, and which of a 60-byte frame are a quarter.
func TestABucketFullOfSmallPackets(t *testing.T) {
	c := Cell{Wire: "nic", Pairs: []Pair{{From: Place{Node: "a"}, To: Place{Node: "b"}}}, Wired: &WireSettings{BitsPerSecond: 5e6}}
	at := func(packets, bytes uint64) bool {
		trial := cpuTrial(0.5, 0.5, 0.3, 0.3)
		a := trial.Nodes["a"]
		a.Links = []LinkSample{{Role: RoleWire, TxPackets: 2 * packets, TxBytes: 2 * packets * bytes}} // in 2 s
		trial.Nodes["a"] = a
		ceiling, is := c.AtCeiling(nil, []Trial{trial})
		return is && ceiling.Kind == CeilingShaper
	}
	for _, of := range []struct {
		packets, bytes uint64
		want           bool
	}{{10405, 46, true}, {10405, 60, true}, {9000, 46, false}, {433, 1428, true}, {12500, 46, false}} {
		if got := at(of.packets, of.bytes); got != of.want {
			t.Errorf("%d packets of %d bytes at 5 Mbit/s: %t", of.packets, of.bytes, got)
		}
	}
}
