package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"windtunnel/bench"
	"windtunnel/bench/peers"
	"windtunnel/bench/wire"
	"windtunnel/result"
	"windtunnel/traffic/stream"
)

// setup is one wire and piece of work on which tools are compared.
type setup struct {
	name string
	wire string // wire.NIC or wire.Memory
	work peers.Work
	kind string // of our load
	load result.Options
	goal float64 // what our rate should reach, over the best peer's
	// alone are goals over one peer's, by its name.
	alone map[string]float64
	limit string // what keeps our rate from its goals, where that is known
}

// smallest is the UDP payload of a 64-byte frame: 14 Ethernet, 20 IP, 8 UDP, 4 FCS.
const smallest = 18

const debianIperf3 = "iperf3 3.12"

var setups = []setup{
	{
		name: "TCP, 128 KiB messages, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.Bytes, Message: 128 << 10},
		kind: "stream", load: result.Options{"message": 128 << 10, "congestion": "cubic"}, goal: 1,
	},
	{
		name: "TCP, 128 KiB messages with zero copy and discard, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.Bytes, Message: 128 << 10, ZeroCopy: true},
		kind: "stream", load: result.Options{"message": 128 << 10, "congestion": "cubic", "copy": stream.CopySplice, "discard": true}, goal: 1.1,
		limit: limitOfZeroCopy,
	},
	{
		name: "TCP, 1390 B no-delay messages, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.Bytes, Message: 1390, NoDelay: true},
		kind: "stream", load: result.Options{"message": 1390, "nodelay": true, "congestion": "cubic"}, goal: 1, alone: map[string]float64{debianIperf3: 1.4},
		limit: limitOfSmallMessages,
	},
	{
		name: "TCP, 128 KiB messages, wire as memory", wire: wire.Memory, work: peers.Work{What: peers.Bytes, Message: 128 << 10},
		kind: "stream", load: result.Options{"message": 128 << 10, "congestion": "cubic"}, goal: 1,
	},
	{
		name: "UDP, 1400 B without segmentation offload, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.Datagrams, Message: 1400},
		kind: "datagram", load: result.Options{"message": 1400, "segmentation": "off", "verify": "header"}, goal: 1.2, alone: map[string]float64{debianIperf3: 1.5},
		limit: limitOfDatagrams,
	},
	{
		name: "UDP, 1400 B with segmentation offload, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.Datagrams, Message: 1400, Offload: true},
		kind: "datagram", load: result.Options{"message": 1400, "verify": "header"}, goal: 2, alone: map[string]float64{debianIperf3: 5},
	},
	{
		name: "UDP, 1400 B with segmentation offload, wire as memory", wire: wire.Memory, work: peers.Work{What: peers.Datagrams, Message: 1400, Offload: true},
		kind: "datagram", load: result.Options{"message": 1400, "verify": "header"}, goal: 1.3, alone: map[string]float64{debianIperf3: 15},
		limit: limitOfAggregates,
	},
	{
		name: "UDP, 64-byte packets, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.Datagrams, Message: smallest, Offload: true},
		kind: "datagram", load: result.Options{"message": smallest, "verify": "header"}, goal: 5,
		limit: limitOfSmallest,
	},
	{
		name: "frames, 64 bytes, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.Frames},
		kind: "frame", load: result.Options{"size": 64}, goal: 0.9,
		limit: limitOfFrames,
	},
	{
		name: "TCP request/response, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.TCPTransactions, Message: 1},
		kind: "ping", load: result.Options{"protocol": "tcp", "congestion": "cubic"}, goal: 1,
	},
	{
		name: "UDP request/response, wire as NIC", wire: wire.NIC, work: peers.Work{What: peers.UDPTransactions, Message: 1},
		kind: "ping", load: result.Options{"protocol": "udp"}, goal: 1,
	},
}

// unit is what a row of rates compares.
var unit = map[peers.What]string{
	peers.Bytes:           "received rate",
	peers.Datagrams:       "packets received",
	peers.Frames:          "frames counted",
	peers.TCPTransactions: "transactions",
	peers.UDPTransactions: "transactions",
}

// programs are ours and then the peers that can do the work.
func (s setup) programs(given settings, found []peers.Tool) []wire.Program {
	all := []wire.Program{ours(given, s)}
	if s.work.What == peers.Frames {
		return append(all, bareLoop(given))
	}
	for _, tool := range found {
		if p, able := tool.Program(s.work, given.window); able {
			all = append(all, p)
		}
	}
	return all
}

// ours is our load; datagrams and frames are counted by its receiver.
func ours(given settings, s setup) wire.Program {
	return wire.Program{Name: "ours", Run: func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
		return seen(func() (wire.Sample, error) { return s.trial(ctx, w, given.window) })
	}}
}

func (s setup) trial(ctx context.Context, w *wire.Wire, window time.Duration) (wire.Sample, error) {
	trial, err := w.RunOurs(ctx, window, s.kind, s.load)
	if err != nil {
		return trial.Sample, err
	}
	sample := trial.Sample
	switch s.work.What {
	case peers.Datagrams, peers.Frames:
		sample.PerSecond = float64(trial.Receiver.Packets) / trial.Receiver.WindowSeconds
	default:
		sample.PerSecond = s.work.Count(sample, peers.Commands{})
	}
	return sample, s.check(sample)
}

// seenTries is how often in all a trial is made whose count the kernel does not know of. The sample is within what our receiver
// counts, and half as long: on a machine that others use unseen the two may differ once, and a count that is wrong does always.
const seenTries = 3

// errUnseen is of a count of ours that the kernel does not know of.
var errUnseen = errors.New("the kernel did not see what we counted")

// seen makes a trial again whose count the kernel does not know of.
func seen(trial func() (wire.Sample, error)) (sample wire.Sample, err error) {
	for range seenTries {
		if sample, err = trial(); !errors.Is(err, errUnseen) {
			break
		}
	}
	return sample, err
}

// slack is by how much a rate over our window may pass the kernel's over the
// sample's, which lies in it.
const slack = 1.1

// check refuses a count of ours that the kernel does not know of, by errUnseen. A disturbed trial,
// whose rate is not the same in both windows, is repeated anyway.
func (s setup) check(sample wire.Sample) error {
	if s.work.What != peers.Datagrams || math.Abs(sample.Foreign()) > wire.Disturbed {
		return nil
	}
	if had := peers.UpTo(sample, s.work.Message); sample.PerSecond > slack*had {
		return fmt.Errorf("%w: our receiver had %.0f datagrams a second, its kernel %.0f", errUnseen, sample.PerSecond, had)
	}
	return nil
}

// figure is one of a setup's: of each program's sample, and ours against the peers'.
type figure struct {
	of func(wire.Sample) float64
	*bench.Contest
	limit string
}

// figures are the setup's rate and, of streams, what a byte costs.
func (s setup) figures(peerNames []string) []figure {
	rate := func(sample wire.Sample) float64 { return sample.PerSecond }
	all := []figure{{rate, bench.NewContest(unit[s.work.What]+", "+s.name, bench.Goal{Ratio: s.goal}, peerNames, s.alone), s.limit}}
	if s.work.What == peers.Bytes {
		cost := bench.NewContest("CPU time per byte of both ends, "+s.name, bench.Goal{Ratio: 1, AtMost: true}, peerNames, nil)
		all = append(all, figure{wire.Sample.CostTCP, cost, s.limit})
	}
	return all
}
