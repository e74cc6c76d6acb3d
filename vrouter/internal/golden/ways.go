package golden

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/packet"
)

// flowCount is how many each test sends; every member of four has a fourth of them, give or take.
const flowCount = 400

// ways is a mover under test.
type ways struct {
	change func([]config.Change)
	leaves func(frame []byte) []byte
}

// CheckWays: a mover keeps each flow on one of four ways, IPv4 and IPv6; the way that goes moves its
// own flows only; all fragments of a packet have one; and the flows of one way have ports of all kinds. The
// mover has the tables of Load: change changes their routes, and leaves gives what leaves by the fabric for a
// frame of the first port's.
func CheckWays(t *testing.T, change func([]config.Change), leaves func(frame []byte) []byte) {
	t.Helper()
	bed := ways{change, leaves}
	var targets = []netip.Addr{netip.MustParseAddr("10.7.0.1"), netip.MustParseAddr("fd00:7::1")}
	lead := func(labels ...uint32) {
		var members []config.Via
		for _, label := range labels {
			remote := netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + label%2)})
			members = append(members, config.Via{Tunnel: remote, Encapsulation: config.MPLSoUDP, Label: label})
		}
		via := config.Via{ECMP: config.MakeMembers(members...)}
		var changes []config.Change
		for _, target := range targets {
			changes = append(changes, config.Change{Network: "network1", Prefix: netip.PrefixFrom(target, target.BitLen()), Via: &via})
		}
		bed.change(changes)
	}
	lead(1001, 1002, 1003, 1004)
	before := make(map[netip.Addr][]uint32)
	for _, target := range targets {
		before[target] = bed.labels(t, target)
		for i, label := range bed.labels(t, target) {
			if label != before[target][i] {
				t.Fatalf("flow %d to %s has left its way", i, target)
			}
		}
		evenly(t, before[target])
		bed.fragments(t, target)
	}
	lead(1004, 1001, 1002)
	for _, target := range targets {
		for i, label := range bed.labels(t, target) {
			if was := before[target][i]; label == 1003 || was != 1003 && label != was {
				t.Errorf("flow %d to %s has label %d, and had %d", i, target, label, was)
			}
		}
	}
}

func evenly(t *testing.T, labels []uint32) {
	t.Helper()
	counts := make(map[uint32]int)
	for _, label := range labels {
		counts[label]++
	}
	for label := uint32(1001); label <= 1004; label++ { // the flows alone have a standard deviation of 9, the buckets one of 5
		if n := counts[label]; n < flowCount/4-45 || n > flowCount/4+45 {
			t.Errorf("the way with label %d has %d flows of %d", label, n, flowCount)
		}
	}
}

// labels sends a packet of each flow, and gives the labels that they leave with. The outer ports of those
// that have one label differ as all do: no bits of them say which way it is.
func (b ways) labels(t *testing.T, to netip.Addr) (labels []uint32) {
	t.Helper()
	ports := make(map[uint32]map[uint16]bool)
	for i := range flowCount {
		out := b.leaves(datagram(t, to, uint16(1024+i)))
		label, port := binary.BigEndian.Uint32(out[42:])>>12, binary.BigEndian.Uint16(out[34:])
		if ports[label] == nil {
			ports[label] = make(map[uint16]bool)
		}
		ports[label][port&0x3f] = true
		labels = append(labels, label)
	}
	for label, seen := range ports { // of 64 kinds, 100 balls leave 13 empty
		if len(seen) < 35 {
			t.Errorf("the flows with label %d have %d kinds of ports", label, len(seen))
		}
	}
	return labels
}

func datagram(t *testing.T, to netip.Addr, port uint16) []byte {
	t.Helper()
	source := "10.0.1.3"
	if to.Is6() {
		source = "fd00:1::3"
	}
	frame, err := packet.Build(packet.Spec{
		SourceMAC: config.MAC{2, 0, 0, 0, 1, 3}, DestinationMAC: config.GatewayMAC, Source: netip.MustParseAddr(source), Destination: to,
		Protocol: "udp", SourcePort: port, DestinationPort: 53, Size: 120, TTL: 64,
	})
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// fragments sends the first, the second and the last fragment of packets of several protocols.
func (b ways) fragments(t *testing.T, to netip.Addr) {
	t.Helper()
	ways := make(map[uint32]bool)
	for flow := range 20 {
		for _, offset := range []uint16{0, 5, 20} {
			frame := datagram(t, to, uint16(5000+flow))
			if to.Is6() {
				frame = fragment6(frame, offset, flow)
			} else {
				fragment4(frame, offset)
			}
			ways[binary.BigEndian.Uint32(b.leaves(frame)[42:])>>12] = true
		}
	}
	if len(ways) != 1 {
		t.Errorf("fragments between two hosts have the ways %v", ways)
	}
}

// fragment4 makes a packet a fragment: RFC 791, section 3.1.
func fragment4(frame []byte, offset uint16) {
	ip := frame[14:34]
	binary.BigEndian.PutUint16(ip[6:], offset|0x2000)
	binary.BigEndian.PutUint16(ip[10:], 0)
	var sum uint32
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
}

// fragment6 puts a fragment header in (RFC 8200, section 4.5), and in some flows one with destination
// options behind it, which only the first fragment shows to lead to UDP.
func fragment6(frame []byte, offset uint16, flow int) []byte {
	headers := []byte{17, 0, 0, 1, 0, 0, 0, 7}
	binary.BigEndian.PutUint16(headers[2:], offset<<3|1)
	if flow%2 == 0 {
		headers[0] = 60
		headers = append(headers, 17, 0, 1, 4, 0, 0, 0, 0)
	}
	out := append(append(append([]byte{}, frame[:54]...), headers...), frame[54:]...)
	out[14+6] = 44
	binary.BigEndian.PutUint16(out[14+4:], uint16(len(out)-54))
	return out
}
