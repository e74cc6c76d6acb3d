package scenario

import (
	"fmt"

	"windtunnel/result"
)

// Wire is the link between the nodes.
type Wire struct {
	Kind   string // nic or memory
	MTU    int    // bytes of an IP packet; default 1500
	Queues int    // 0: the planner's
	VMQ    string // a receive queue for each destination: on, off, or auto
	Spread string // whose work several CPUs do: none, receive, send, both, or auto
	GRO    string // whether its receivers join packets: on, off, or auto
	Steer  string // sender: what arrives is received on the sending node's CPUs; or auto

	BitsPerSecond float64 // of a token bucket at each end; 0: none
	Loss          float64 // the share of what arrives that a rule drops, 0 to 1
}

// WireLeastRate is the least rate of a wire: a large packet then takes a seventh of a second.
const WireLeastRate = 1e6

// SteerSender is the word of Wire.Steer, beside Auto.
const SteerSender = "sender"

// The kinds of Wire.
const (
	WireNIC    = "nic"
	WireMemory = "memory"
)

// Auto leaves a setting of Wire to the path.
const Auto = "auto"

// The words of Wire.Spread, beside Auto.
const (
	SpreadNone    = "none"
	SpreadReceive = "receive"
	SpreadSend    = "send"
	SpreadBoth    = "both"
)

const defaultMTU = 1500

func (d *draft) setWire(n *node) {
	r, wire := d.r, &d.cell.Wire
	word := func(to *string, what string, words ...string) func(*node) {
		return func(n *node) {
			if v, ok := r.word(n, what, words); ok {
				*to = v
			}
		}
	}
	r.readKeys(n, "`wire`", []handler{
		{key: "kind", read: word(&wire.Kind, "wire", WireNIC, WireMemory)},
		{key: "mtu", read: func(n *node) {
			if v, ok := r.count(n, "the wire's MTU", minMTU, maxMTU); ok {
				wire.MTU = v
			}
		}},
		{key: "queues", read: func(n *node) {
			if v, ok := r.count(n, "`queues`", 1, maxQueues); ok {
				wire.Queues = v
			}
		}},
		{key: "vmq", read: word(&wire.VMQ, "value of `vmq`", Auto, "off", "on")},
		{key: "gro", read: word(&wire.GRO, "value of `gro`", Auto, "on", "off")},
		{key: "steer", read: word(&wire.Steer, "value of `steer`", Auto, SteerSender)},
		{key: "rate", read: func(n *node) {
			v, ok := parsed(r, n, "the wire's `rate`", result.ParseBitRate)
			if ok && v < WireLeastRate {
				r.add(n.at, fmt.Sprintf("the wire's `rate` is %s; it is at least 1Mbit/s", result.Clip(n.text)))
			} else if ok {
				wire.BitsPerSecond = v
			}
		}},
		{key: "loss", read: func(n *node) {
			if v, ok := parsed(r, n, "the wire's `loss`", result.ParseLossRatio); ok {
				wire.Loss = v
			}
		}},
		{key: "spread", read: word(&wire.Spread, "value of `spread`", Auto, SpreadNone, SpreadReceive, SpreadSend, SpreadBoth)},
	})
}
