package result

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Value is what one trial says of one metric of its cell, in the metric's unit:
// bits per second, percent, nanoseconds of CPU per KiB or packet, packets per
// second, bytes, seconds, or a count in the window. The error is the reason why it has none.
func (c Cell) Value(t Trial, m Metric) (float64, error) {
	if node := m.CPUNode(); node != "" {
		share, err := t.cpuShare(node)
		return share * 100, err
	}
	if m.IsLatency() {
		return latency(t, m)
	}
	switch m {
	case ReceivedRate, "":
		return rate(t.Pairs, PairSample.Receivers)
	case SentRate:
		return rate(t.Pairs, PairSample.Senders)
	case SenderCost:
		return c.cost(t, c.Senders(), c.Receivers())
	case ReceiverCost:
		return c.cost(t, c.Receivers(), c.Senders())
	case TogetherCost:
		return c.cost(t, union(c.Senders(), c.Receivers()), nil)
	case WirePacketRate, WirePacketSize:
		return c.wire(t, m)
	case EndpointPacketSize:
		return c.endpointPacketSize(t)
	case Retransmits:
		return retransmits(t.Pairs)
	}
	return c.packetValue(t, m)
}

// packetValue is Value for the metrics of loads that consist of packets.
func (c Cell) packetValue(t Trial, m Metric) (float64, error) {
	switch m {
	case ReceivedPacketRate:
		return packetRate(t.Pairs, PairSample.Receivers)
	case SentPacketRate:
		return packetRate(t.Pairs, PairSample.Senders)
	case TransactionRate:
		return transactions(t.Pairs)
	case Loss, LatePackets, Reordered, Duplicates, Corrupt, Jitter:
		return arrival(t, m)
	case SenderPacketCost:
		return c.packetCost(t, c.Senders(), c.Receivers())
	case ReceiverPacketCost:
		return c.packetCost(t, c.Receivers(), c.Senders())
	case TogetherPacketCost:
		return c.packetCost(t, union(c.Senders(), c.Receivers()), nil)
	case PacketsPerCore, PacketsPerBusyCore, DevicePacketCost, DeviceCycles:
		return c.deviceValue(t, m)
	case LineShare10G:
		return c.lineShare(t, Ethernet10G)
	case LineShare40G:
		return c.lineShare(t, Ethernet40G)
	case OutageTime:
		seconds, _, _, err := t.Outage()
		return seconds, err
	case FoundRate:
		return 0, errors.New("it is found by the cell's search, not by its trials")
	}
	return 0, fmt.Errorf("no metric %q", string(m))
}

// Senders are the nodes on which the cell's senders run, sorted, each once: in a
// reversed load, those that were connected to.
func (c Cell) Senders() []string {
	if c.reversed() {
		return c.nodes(func(p Pair) string { return p.To.Node })
	}
	return c.nodes(func(p Pair) string { return p.From.Node })
}

// Receivers are the nodes on which the cell's receivers run, sorted, each once.
func (c Cell) Receivers() []string {
	if c.reversed() {
		return c.nodes(func(p Pair) string { return p.From.Node })
	}
	return c.nodes(func(p Pair) string { return p.To.Node })
}

// reversed reports whether payload flows to the ends that connect; the option has
// one name in every kind of load that has it.
func (c Cell) reversed() bool { return c.Load.Text("direction") == "reverse" }

// Colocated reports whether no pair crosses from one node to another.
func (c Cell) Colocated() bool {
	for _, p := range c.Pairs {
		if p.From.Node != p.To.Node {
			return false
		}
	}
	return len(c.Pairs) > 0
}

func (c Cell) nodes(of func(Pair) string) []string {
	var names []string
	for _, p := range c.Pairs {
		names = append(names, of(p))
	}
	return union(names, nil)
}

func union(a, b []string) []string {
	seen := map[string]bool{}
	var all []string
	for _, names := range [][]string{a, b} {
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
	}
	sort.Strings(all)
	return all
}

// rate sums the pairs' rates at one end, in bits per second, in both directions:
// each end by its own bytes over its own window.
func rate(pairs []PairSample, ends func(PairSample) []PairEnd) (float64, error) {
	if len(pairs) == 0 {
		return 0, errors.New("no pair reported")
	}
	sum := 0.0
	for _, p := range pairs {
		for _, end := range ends(p) {
			r, err := end.Rate()
			if err != nil {
				return 0, fmt.Errorf("%s to %s: %w", p.From, p.To, err)
			}
			sum += r
		}
	}
	return sum, nil
}

// Rate is the end's payload in bits per second.
func (e PairEnd) Rate() (float64, error) {
	if e.WindowSeconds > 0 {
		return float64(e.Bytes) * 8 / e.WindowSeconds, nil
	}
	if e.Error != "" {
		return 0, errors.New(e.Error)
	}
	return 0, errors.New("an end has no window")
}

// cpuShare is the busy share of all the node's CPUs, 0 to 1.
func (t Trial) cpuShare(node string) (float64, error) {
	busy, n, err := t.busyCPUs(node)
	return busy / float64(max(n, 1)), err
}

// busyCPUs is how many CPUs of a node were busy on the mean of the window, and
// how many it has.
func (t Trial) busyCPUs(node string) (busy float64, n int, err error) {
	sample, ok := t.Nodes[node]
	if !ok {
		return 0, 0, fmt.Errorf("node %s was not sampled", node)
	}
	if why := sample.Missing["cpu"]; why != "" {
		return 0, 0, errors.New(why)
	}
	if len(sample.CPUs) == 0 || sample.WindowSeconds <= 0 {
		return 0, 0, fmt.Errorf("the CPUs of node %s were not sampled", node)
	}
	for _, cpu := range sample.CPUs {
		busy += cpu.Busy / sample.WindowSeconds
	}
	return busy, len(sample.CPUs), nil
}

// cost is the CPU time of the nodes per payload received, in nanoseconds per KiB.
func (c Cell) cost(t Trial, nodes, others []string) (float64, error) {
	bitsPerSecond, err := rate(t.Pairs, PairSample.Receivers)
	if err != nil {
		return 0, err
	}
	if bitsPerSecond <= 0 {
		return 0, errors.New("nothing was received")
	}
	busy, err := t.busyOf(nodes, others)
	return busy * 1e9 / (bitsPerSecond / 8 / 1024), err
}

// busyOf is how many CPUs of the nodes were busy. A node of the other end among
// them makes the ends inseparable.
func (t Trial) busyOf(nodes, others []string) (float64, error) {
	for _, name := range nodes {
		if slices.Contains(others, name) {
			return 0, fmt.Errorf("both ends run on node %s, whose CPU time cannot be split", name)
		}
		if _, _, err := t.busyCPUs(name); err != nil {
			return 0, err
		}
		if slices.ContainsFunc(others, func(other string) bool { return t.overlap(name, other) }) {
			return 0, errors.New("both ends run on the same CPUs of one machine, whose time cannot be split")
		}
	}
	sum, apart := 0.0, t.apart(nodes)
	for _, name := range nodes {
		busy := 0.0
		for _, cpu := range apart[name] {
			busy += cpu.Busy / t.Nodes[name].WindowSeconds
		}
		sum += busy
	}
	return sum, nil
}

// overlap tells whether two nodes have a CPU of one machine in common.
func (t Trial) overlap(a, b string) bool {
	one, other := t.Nodes[a], t.Nodes[b]
	return one.Machine != "" && one.Machine == other.Machine && slices.ContainsFunc(one.CPUs, func(c CPUSample) bool {
		return slices.ContainsFunc(other.CPUs, func(d CPUSample) bool { return c.CPU == d.CPU })
	})
}

// apart are the CPUs of nodes, each of a machine's once, at the first node that has it.
func (t Trial) apart(nodes []string) map[string][]CPUSample {
	type place struct {
		machine string
		cpu     int
	}
	seen, all := map[place]bool{}, map[string][]CPUSample{}
	for _, name := range nodes {
		sample := t.Nodes[name]
		for _, cpu := range sample.CPUs {
			at := place{sample.Machine, cpu.CPU}
			if sample.Machine == "" || !seen[at] {
				all[name] = append(all[name], cpu)
			}
			seen[at] = true
		}
	}
	return all
}

// wire is what left the sending nodes for the wire: packets per second or bytes a
// packet.
func (c Cell) wire(t Trial, m Metric) (float64, error) {
	if c.Colocated() {
		return 0, errors.New("no wire between the endpoints")
	}
	var packets, bytes uint64
	perSecond, links, told := 0.0, 0, true
	for _, name := range c.Senders() {
		sample := t.Nodes[name]
		for _, l := range sample.Links {
			if l.Role != RoleWire || sample.WindowSeconds <= 0 {
				continue
			}
			links++
			packets += l.TxPackets
			framed, known := c.framed(t, name, l)
			bytes, told = bytes+framed, told && known
			perSecond += float64(l.TxPackets) / sample.WindowSeconds
		}
	}
	switch {
	case links == 0:
		return 0, errors.New("no link of the wire was sampled")
	case m == WirePacketRate:
		return perSecond, nil
	case packets == 0:
		return 0, errors.New("no packet went out on the wire")
	case !told:
		return 0, errors.New("the record does not tell whether the wire's ends counted packets with their Ethernet headers")
	}
	return float64(bytes) / float64(packets), nil
}

// endpointPacketSize is the bytes of an IP packet as the receiving stacks saw it,
// after aggregation.
func (c Cell) endpointPacketSize(t Trial) (float64, error) {
	places := map[Place]bool{}
	for _, p := range c.Pairs {
		if c.reversed() {
			p.To = p.From
		}
		places[p.To] = true
	}
	var packets, bytes uint64
	for place := range places {
		for _, s := range t.Nodes[place.Node].Stacks {
			if s.Place == place.Name() {
				packets += s.InPackets
				bytes += s.InBytes
			}
		}
	}
	if packets == 0 {
		return 0, errors.New("the receiving stack was not sampled or saw no packet")
	}
	return float64(bytes) / float64(packets), nil
}

// retransmits sums the senders' retransmitted segments in the window.
func retransmits(pairs []PairSample) (float64, error) {
	sum, connections := uint64(0), 0
	for _, p := range pairs {
		for _, end := range p.Senders() {
			for _, c := range end.Connections {
				connections++
				sum += c.Retransmits
			}
		}
	}
	if connections == 0 {
		return 0, errors.New("no TCP connection was sampled")
	}
	return float64(sum), nil
}
