package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"windtunnel/bench"
	"windtunnel/bench/wire"
	"windtunnel/result"
)

// What a setup counts per second.
type counted int

const (
	datagrams       counted = iota // received by sockets
	tcpTransactions                // requests of one byte received
	udpTransactions
	frames
)

// setup is one testbed and load on which tools are compared.
type setup struct {
	name    string
	what    counted
	wire    string // wire.NIC or wire.Memory
	message int    // bytes of payload
	offload bool   // peers use segmentation offload where they can
	kind    string // of our load
	load    result.Options
	goal    float64 // what our rate should reach, over the best peer's
	// alone are goals over one peer's, by the beginning of its name.
	alone map[string]float64
}

// smallest is the UDP payload of a 64-byte frame: 14 Ethernet, 20 IP, 8 UDP, 4 FCS.
const smallest = 18

var setups = []setup{
	{
		name: "UDP, 1400 B without segmentation offload, wire as NIC", what: datagrams, wire: wire.NIC, message: 1400,
		kind: "datagram", load: result.Options{"message": 1400, "segmentation": "off"}, goal: 1.2, alone: map[string]float64{"iperf3 3.12": 1.5},
	},
	{
		name: "UDP, 1400 B with segmentation offload, wire as NIC", what: datagrams, wire: wire.NIC, message: 1400, offload: true,
		kind: "datagram", load: result.Options{"message": 1400}, goal: 2, alone: map[string]float64{"iperf3 3.12": 5},
	},
	{
		name: "UDP, 1400 B with segmentation offload, wire as memory", what: datagrams, wire: wire.Memory, message: 1400, offload: true,
		kind: "datagram", load: result.Options{"message": 1400}, goal: 1.3, alone: map[string]float64{"iperf3 3.12": 15},
	},
	{
		name: "UDP, 64-byte packets, wire as NIC", what: datagrams, wire: wire.NIC, message: smallest, offload: true,
		kind: "datagram", load: result.Options{"message": smallest}, goal: 5,
	},
	{
		name: "frames, 64 bytes, wire as NIC", what: frames, wire: wire.NIC,
		kind: "frame", load: result.Options{"size": 64}, goal: 0.9,
	},
	{
		name: "TCP request/response, wire as NIC", what: tcpTransactions, wire: wire.NIC, message: 1,
		kind: "ping", load: result.Options{"protocol": "tcp", "congestion": "cubic"}, goal: 1,
	},
	{
		name: "UDP request/response, wire as NIC", what: udpTransactions, wire: wire.NIC, message: 1,
		kind: "ping", load: result.Options{"protocol": "udp"}, goal: 1,
	},
}

// unit is what a row compares.
func (c counted) unit() string {
	switch c {
	case datagrams:
		return "packets received"
	case frames:
		return "frames counted"
	}
	return "transactions"
}

// peers are the programs that can do the setup.
func (s setup) peers(given settings, found []peer) (able []wire.Program) {
	if s.what == frames {
		return []wire.Program{bareLoop(given)}
	}
	for _, p := range found {
		if program, ok := p.program(given, s); ok {
			able = append(able, program)
		}
	}
	return able
}

// ours is our load, counted by its receiver.
func ours(given settings, s setup) wire.Program {
	return wire.Program{Name: "ours", Run: func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
		trial, err := w.RunOurs(ctx, given.window, s.kind, s.load)
		if err != nil {
			return trial.Sample, err
		}
		sample := trial.Sample
		switch s.what {
		case tcpTransactions, udpTransactions:
			sample.PerSecond = s.kernelCount(sample, s.message, false)
		default:
			sample.PerSecond = float64(trial.Receiver.Packets) / trial.Receiver.WindowSeconds
		}
		return sample, s.check(sample)
	}}
}

// kernelCount is what the receiver's kernel says per second, the same for all tools.
func (s setup) kernelCount(sample wire.Sample, message int, aggregates bool) float64 {
	seconds := sample.Receiver.WindowSeconds
	switch {
	case s.what == tcpTransactions:
		return float64(sample.ReceivedTCP) / float64(message) / seconds
	case aggregates:
		return upTo(sample, message) / seconds
	}
	return float64(sample.ReceivedUDP) / seconds
}

// upTo is how many datagrams of a size came up to the receiver's IP layer: an
// aggregate has one header of IP and UDP before the payload of all its datagrams.
func upTo(sample wire.Sample, message int) float64 {
	const headers = 20 + 8
	stack := sample.Receiver.Stacks[0]
	return (float64(stack.InBytes) - headers*float64(stack.InPackets)) / float64(message)
}

// slack is by how much a rate over our window may pass the kernel's over the
// sample's, which lies in it.
const slack = 1.1

// check refuses a count of ours that the kernel does not know of. A disturbed trial,
// whose rate is not the same in both windows, is repeated anyway.
func (s setup) check(sample wire.Sample) error {
	if s.what != datagrams || math.Abs(sample.Foreign()) > wire.Disturbed {
		return nil
	}
	if seen := upTo(sample, s.message) / sample.Receiver.WindowSeconds; sample.PerSecond > slack*seen {
		return fmt.Errorf("our receiver counted %.0f datagrams a second, its kernel saw %.0f", sample.PerSecond, seen)
	}
	return nil
}

// table is the comparisons of one setup: over the best peer, then over each that
// has a goal of its own.
type table struct {
	rows []*bench.Comparison
	who  []int // the peer of each row after the first
}

func newTable(s setup, peers []wire.Program) *table {
	what := s.what.unit() + ", " + s.name
	t := &table{rows: []*bench.Comparison{{What: what, Goal: bench.Goal{Ratio: s.goal}}}}
	for i, p := range peers {
		for name, goal := range s.alone {
			if strings.HasPrefix(p.Name, name) {
				t.rows = append(t.rows, &bench.Comparison{What: what + ", " + name + " alone", Goal: bench.Goal{Ratio: goal}})
				t.who = append(t.who, i)
			}
		}
	}
	return t
}

// pairs is how many rounds were taken.
func (t *table) pairs() int { return len(t.rows[0].Ours) }

// add takes one round, if it is usable: a peer that lost the one datagram on which it
// waits for ever has no figure.
func (t *table) add(ours wire.Sample, peers []wire.Sample) bool {
	best := 0.0
	for _, p := range peers {
		best = max(best, p.PerSecond)
	}
	if best == 0 {
		return false
	}
	t.rows[0].Add(ours.PerSecond, best)
	for i, who := range t.who {
		if alone := peers[who].PerSecond; alone > 0 {
			t.rows[i+1].Add(ours.PerSecond, alone)
		}
	}
	return true
}
