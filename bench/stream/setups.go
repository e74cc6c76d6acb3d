package main

import (
	"context"
	"strings"

	"windtunnel/bench"
	"windtunnel/bench/wire"
	"windtunnel/result"
	"windtunnel/traffic/stream"
)

// setup is one testbed and load on which tools are compared.
type setup struct {
	name     string
	wire     string // wire.NIC or wire.Memory
	message  int    // bytes
	nodelay  bool
	zeroCopy bool    // peers use their zero copy, and discard where they can
	rate     float64 // what the received rate should reach, over the best peer's
	// alone are goals of the rate over one peer's, by the beginning of its name.
	alone map[string]float64
}

var setups = []setup{
	{name: "128 KiB messages, wire as NIC", wire: wire.NIC, message: 128 << 10, rate: 1},
	{name: "128 KiB messages with zero copy and discard, wire as NIC", wire: wire.NIC, message: 128 << 10, zeroCopy: true, rate: 1.1},
	{name: "1390 B no-delay messages, wire as NIC", wire: wire.NIC, message: 1390, nodelay: true, rate: 1, alone: map[string]float64{"iperf3 3.12": 1.4}},
	{name: "128 KiB messages, wire as memory", wire: wire.Memory, message: 128 << 10, rate: 1},
}

// ours is the engine with the setup's load.
func ours(s settings, setup setup) wire.Program {
	load := result.Options{"message": setup.message, "nodelay": setup.nodelay, "congestion": "cubic"}
	if setup.zeroCopy {
		load["copy"], load["discard"] = stream.CopySendfile, true
	}
	return wire.Program{Name: "ours", Run: func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
		trial, err := w.RunOurs(ctx, s.window, "stream", load)
		return trial.Sample, err
	}}
}

// table is the comparisons of one setup.
type table struct {
	rate  *bench.Comparison
	costs [3]*bench.Comparison // of the sender, the receiver, both
	alone []*bench.Comparison
	who   []int // the peer of each of them
}

var sides = [3]struct {
	name             string
	sender, receiver bool
}{{"the sender", true, false}, {"the receiver", false, true}, {"both nodes", true, true}}

func newTable(setup setup, peers []wire.Program) *table {
	t := &table{rate: &bench.Comparison{What: "received rate, " + setup.name, Goal: bench.Goal{Ratio: setup.rate}}}
	for i, side := range sides {
		t.costs[i] = &bench.Comparison{What: "CPU time per byte of " + side.name + ", " + setup.name, Goal: bench.Goal{Ratio: 1, AtMost: true}}
	}
	for i, p := range peers {
		for name, goal := range setup.alone {
			if strings.HasPrefix(p.Name, name) {
				t.alone = append(t.alone, &bench.Comparison{What: "received rate, " + setup.name + ", " + name + " alone", Goal: bench.Goal{Ratio: goal}})
				t.who = append(t.who, i)
			}
		}
	}
	return t
}

// add takes one round: the best peer of it counts, in each figure by itself.
func (t *table) add(ours wire.Sample, peers []wire.Sample) {
	best := func(of func(wire.Sample) float64, better func(a, b float64) float64) float64 {
		figure := of(peers[0])
		for _, p := range peers[1:] {
			figure = better(figure, of(p))
		}
		return figure
	}
	highest := func(a, b float64) float64 { return max(a, b) }
	lowest := func(a, b float64) float64 { return min(a, b) }
	t.rate.Add(ours.RateTCP(), best(wire.Sample.RateTCP, highest))
	for i, side := range sides {
		cost := func(s wire.Sample) float64 { return s.CostTCP(side.sender, side.receiver) }
		t.costs[i].Add(cost(ours), best(cost, lowest))
	}
	for i, peer := range t.who {
		t.alone[i].Add(ours.RateTCP(), peers[peer].RateTCP())
	}
}

func (t *table) rows() []*bench.Comparison {
	return append(append([]*bench.Comparison{t.rate}, t.alone...), t.costs[:]...)
}
