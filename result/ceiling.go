package result

import (
	"fmt"
	"math"
	"strconv"
)

// The kinds of a Ceiling.
const (
	CeilingShaper    = "shaper"    // the wire's token bucket
	CeilingLink      = "link"      // a NIC's speed
	CeilingRate      = "rate"      // what the load was asked for
	CeilingGenerator = "generator" // what the program that makes the load reaches by itself
	CeilingCPU       = "cpu"       // a CPU that could do no more
	CeilingThread    = "thread"    // the load's own threads, where no CPU was full
)

// Ceiling is what a cell's traffic reached and could not pass. Most are rates, for a reason that has nothing to do with what
// the cell compares: cells at one have one rate, whatever they cost. Cells that fill one CPU have rates of their
// own, by what a KiB costs it.
type Ceiling struct {
	Kind          string  `json:"kind"`
	Node          string  `json:"node,omitempty"`            // of a CPU, or of threads
	BitsPerSecond float64 `json:"bits_per_second,omitempty"` // of the ceiling; 0: it is no rate
	Says          string  `json:"says"`
	Seen          string  `json:"seen"` // the evidence
}

// Key is the same for cells at one ceiling.
func (l Ceiling) Key() string {
	return fmt.Sprintf("%s %s %.6g", l.Kind, l.Node, l.BitsPerSecond)
}

// IsRate tells of ceilings at which every cell has the same rate.
func (l Ceiling) IsRate() bool { return l.Kind != CeilingCPU && l.Kind != CeilingThread }

// atCeiling is the share of a ceiling's rate from which a cell is at it.
const atCeiling = 0.95

// atGenerator is that of what a generator reaches without a path; the verdict's own (calibrated in package traffic).
const atGenerator = 0.8

// AtCeiling is what the rate of a cell's trials ended at, if it is a ceiling. Rates come before CPUs, which are also busy below them.
func (c Cell) AtCeiling(nodes []RunNode, trials []Trial) (Ceiling, bool) {
	wire := meanOf(trials, c.WireBits)
	at := func(kind, says string, rate float64) (Ceiling, bool) {
		return Ceiling{Kind: kind, BitsPerSecond: rate, Says: fmt.Sprintf(says, MegabitsWord(rate)),
			Seen: fmt.Sprintf("%s left for the wire, %.0f %% of it", MegabitsWord(wire), 100*wire/rate)}, true
	}
	if w := c.Wired; w != nil && w.BitsPerSecond > 0 {
		if framed := wire + meanOf(trials, c.headerBits); framed <= w.BitsPerSecond/atCeiling {
			wire = framed
		}
		if wire >= atCeiling*w.BitsPerSecond {
			return at(CeilingShaper, "the wire's token bucket of %s", w.BitsPerSecond)
		}
	}
	if speed, node := c.linkSpeed(nodes); speed > 0 && wire >= atCeiling*speed {
		return at(CeilingLink, "the interface of node "+node+", of %s", speed)
	}
	target := meanOf(trials, ofSenders(func(e PairEnd) float64 { return e.Offered.TargetBitsPerSecond }))
	alone := meanOf(trials, ofSenders(calibratedBits))
	made := meanOf(trials, ofSenders(sentBits))
	verdict, says := commonLimit(trials)
	switch {
	case verdict == RateReached && target > 0:
		return Ceiling{Kind: CeilingRate, BitsPerSecond: target, Says: "the rate that its load was asked for, " + MegabitsWord(target), Seen: says}, true
	case verdict == GeneratorLimited && alone > 0 && made >= atGenerator*alone: // else it was kept from its CPU, say
		return Ceiling{Kind: CeilingGenerator, BitsPerSecond: alone, Says: "what the program that makes the load reaches without a path, " + MegabitsWord(alone), Seen: says}, true
	case verdict == RateReached: // of packets
		return Ceiling{}, false
	}
	return c.atCPU(trials)
}

// ofSenders sums over the senders that tell what they offered.
func ofSenders(of func(PairEnd) float64) func(Trial) (float64, bool) {
	return func(t Trial) (float64, bool) {
		sum := 0.0
		for _, p := range t.Pairs {
			for _, e := range p.Senders() {
				if e.Offered != nil {
					sum += of(e)
				}
			}
		}
		return sum, true
	}
}

// calibratedBits is what a sender reaches without a path, in bits a second: loads that have packets tell it in those, others
// in bytes.
func calibratedBits(e PairEnd) float64 {
	if e.Packets > 0 {
		return 8 * e.Offered.CalibratedPerSecond * float64(e.Bytes) / float64(e.Packets)
	}
	return 8 * e.Offered.CalibratedPerSecond
}

// sentBits is what a calibrated sender sent, in bits a second.
func sentBits(e PairEnd) float64 {
	if e.Offered.CalibratedPerSecond == 0 || !(e.WindowSeconds > 0) {
		return 0
	}
	return 8 * float64(e.Bytes) / e.WindowSeconds
}

// wireNIC is the kind of a simulated wire whose ends aggregate what they receive.
const wireNIC = "nic"

// headerBits are those that WireBits may lack, of a record that does not tell which of the packets were counted without their Ethernet
// headers. A token bucket counts these (qdisc_pkt_len), so that what it let through is no more than its rate with them.
func (c Cell) headerBits(t Trial) (float64, bool) {
	most := 0.0
	for _, node := range c.Senders() {
		s := t.Nodes[node]
		for _, l := range s.Links {
			if _, known := c.framed(t, node, l); l.Role == RoleWire && s.WindowSeconds > 0 && !known {
				most = math.Max(most, 8*etherHeader*float64(l.TxPackets)/s.WindowSeconds)
			}
		}
	}
	return most, true
}

// WireBits is what left for the wire in a trial, in bits a second of Ethernet frames without FCS, at the busiest
// of the senders' interfaces; false where none was sampled.
func (c Cell) WireBits(t Trial) (float64, bool) {
	most, found := 0.0, false
	for _, node := range c.Senders() {
		s := t.Nodes[node]
		for _, l := range s.Links {
			if l.Role == RoleWire && s.WindowSeconds > 0 {
				bytes, _ := c.framed(t, node, l)
				most, found = math.Max(most, 8*float64(bytes)/s.WindowSeconds), true
			}
		}
	}
	return most, found
}

// linkSpeed is the slowest interface of the cell's real hosts, 0 where none is known.
func (c Cell) linkSpeed(nodes []RunNode) (least float64, node string) {
	if c.Colocated() {
		return 0, ""
	}
	for _, n := range nodes {
		speed, err := strconv.ParseFloat(n.Fingerprint["nic.bits_per_second"], 64)
		if err == nil && n.Host != "" && speed > 0 && !math.IsInf(speed, 0) && (least == 0 || speed < least) {
			least, node = speed, n.Name
		}
	}
	return least, node
}

// commonLimit is the verdict of more than half of the trials, of the nearest limit of their pairs; "" where there is none.
func commonLimit(trials []Trial) (verdict, says string) {
	count := map[string]int{}
	for _, t := range trials {
		l := t.Limit()
		if l.Verdict == "" {
			continue
		}
		if count[l.Verdict]++; 2*count[l.Verdict] > len(trials) {
			verdict, says = l.Verdict, l.Says
		}
	}
	return verdict, says
}

// meanOf is 0 where no trial has the value.
func meanOf(trials []Trial, of func(Trial) (float64, bool)) float64 {
	sum, n := 0.0, 0
	for _, t := range trials {
		if v, ok := of(t); ok {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(n, 1))
}

// MegabitsWord writes a rate as people do.
func MegabitsWord(bitsPerSecond float64) string {
	if bitsPerSecond >= 1e9 {
		return fmt.Sprintf("%.4g Gbit/s", bitsPerSecond/1e9)
	}
	return fmt.Sprintf("%.4g Mbit/s", bitsPerSecond/1e6)
}
