package packet

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Layer is one header of a frame, or what is left behind the last.
type Layer struct {
	Layer string `json:"layer"` // such as "ipv4"
	Says  string `json:"says"`
}

// The ports of tunnels: RFC 7510, RFC 7348.
const (
	portMPLS  = 6635
	portVXLAN = 4789
)

// Describe tells a frame's headers, the outermost first, as far as its bytes go. Length is the whole
// frame's, which may be more than is at hand.
func Describe(frame []byte, length int) []Layer {
	d := describer{beyond: max(length-len(frame), 0)}
	d.ethernet(frame)
	return d.layers
}

type describer struct {
	layers []Layer
	beyond int // bytes of the frame that are not at hand
}

func (d *describer) add(layer, format string, args ...any) {
	d.layers = append(d.layers, Layer{layer, fmt.Sprintf(format, args...)})
}

// enough tells whether a header is there; else it says what is.
func (d *describer) enough(layer string, b []byte, size int) bool {
	if len(b) >= size {
		return true
	}
	d.add(layer, "cut off: %d of %d bytes", len(b), size)
	return false
}

func (d *describer) rest(b []byte) {
	if n := len(b) + d.beyond; n > 0 {
		d.add("data", "%d bytes", n)
	}
}

func (d *describer) ethernet(b []byte) {
	if !d.enough("ethernet", b, ethernetLen) {
		return
	}
	kind := binary.BigEndian.Uint16(b[12:])
	d.add("ethernet", "%s > %s, type 0x%04x", net.HardwareAddr(b[6:12]), net.HardwareAddr(b[:6]), kind)
	d.inside(kind, b[ethernetLen:])
}

// inside goes on by an EtherType.
func (d *describer) inside(kind uint16, b []byte) {
	switch kind {
	case 0x0800:
		d.ip4(b)
	case 0x86dd:
		d.ip6(b)
	case 0x0806:
		d.arp(b)
	case 0x8847:
		d.mpls(b)
	case 0x8100, 0x88a8:
		if d.enough("vlan", b, 4) {
			d.add("vlan", "id %d", binary.BigEndian.Uint16(b)&0xfff)
			d.inside(binary.BigEndian.Uint16(b[2:]), b[4:])
		}
	default:
		d.rest(b)
	}
}

func (d *describer) arp(b []byte) {
	if !d.enough("arp", b, 28) {
		return
	}
	sender, target := address4(b[14:]), address4(b[24:])
	switch operation := binary.BigEndian.Uint16(b[6:]); operation {
	case 1:
		d.add("arp", "who has %s? tell %s", target, sender)
	case 2:
		d.add("arp", "%s is at %s; to %s", sender, net.HardwareAddr(b[8:14]), target)
	default:
		d.add("arp", "operation %d", operation)
	}
}

func address4(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b[:4])) }

var protocols = map[uint8]string{protoICMP: "icmp", protoTCP: "tcp", protoUDP: "udp", protoGRE: "gre", protoICMP6: "icmpv6"}

func protocol(number uint8) string {
	if name := protocols[number]; name != "" {
		return name
	}
	return fmt.Sprintf("protocol %d", number)
}

var ecn = [4]string{"", "ECT(1)", "ECT(0)", "CE"}

func (d *describer) ip4(b []byte) {
	if !d.enough("ipv4", b, ip4Len) {
		return
	}
	header := int(b[0]&0xf) * 4
	notes := []string{fmt.Sprintf("%s, %d bytes, ttl %d", protocol(b[9]), binary.BigEndian.Uint16(b[2:]), b[8])}
	if b[6]&0x40 != 0 {
		notes = append(notes, "DF")
	}
	fragment := binary.BigEndian.Uint16(b[6:])
	if fragment&0x3fff != 0 {
		notes = append(notes, fmt.Sprintf("fragment at %d", int(fragment&0x1fff)*8))
	}
	if b[1]>>2 != 0 {
		notes = append(notes, fmt.Sprintf("dscp %d", b[1]>>2))
	}
	if mark := ecn[b[1]&3]; mark != "" {
		notes = append(notes, mark)
	}
	if header < ip4Len || header > len(b) || checksum(b[:header]) != 0 {
		notes = append(notes, "bad header")
	}
	d.add("ipv4", "%s > %s, %s", address4(b[12:]), address4(b[16:]), strings.Join(notes, ", "))
	if header < ip4Len || header > len(b) {
		return
	}
	if fragment&0x1fff != 0 {
		d.rest(b[header:])
		return
	}
	d.transport(b[9], b[header:])
}

func (d *describer) ip6(b []byte) {
	if !d.enough("ipv6", b, ip6Len) {
		return
	}
	source, _ := netip.AddrFromSlice(b[8:24])
	destination, _ := netip.AddrFromSlice(b[24:40])
	notes := fmt.Sprintf("%s, %d bytes, hop limit %d", protocol(b[6]), ip6Len+int(binary.BigEndian.Uint16(b[4:])), b[7])
	if dscp := binary.BigEndian.Uint16(b) >> 6 & 0x3f; dscp != 0 {
		notes += fmt.Sprintf(", dscp %d", dscp)
	}
	if mark := ecn[b[1]>>4&3]; mark != "" {
		notes += ", " + mark
	}
	if flow := binary.BigEndian.Uint32(b) & 0xfffff; flow != 0 {
		notes += fmt.Sprintf(", flow 0x%05x", flow)
	}
	d.add("ipv6", "%s > %s, %s", source, destination, notes)
	d.transport(b[6], b[ip6Len:])
}

func (d *describer) transport(number uint8, b []byte) {
	switch number {
	case protoUDP:
		d.udp(b)
	case protoTCP:
		d.tcp(b)
	case protoGRE:
		d.gre(b)
	case protoICMP:
		d.icmp(b)
	case protoICMP6:
		d.icmp6(b)
	default:
		d.rest(b)
	}
}

func (d *describer) udp(b []byte) {
	if !d.enough("udp", b, 8) {
		return
	}
	source, destination := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	d.add("udp", "%d > %d", source, destination)
	switch destination {
	case portMPLS:
		d.mpls(b[8:])
	case portVXLAN:
		if d.enough("vxlan", b[8:], 8) {
			d.add("vxlan", "vni %d", binary.BigEndian.Uint32(b[12:])>>8)
			d.ethernet(b[16:])
		}
	default:
		d.rest(b[8:])
	}
}

func (d *describer) gre(b []byte) {
	if !d.enough("gre", b, 4) {
		return
	}
	kind := binary.BigEndian.Uint16(b[2:])
	d.add("gre", "type 0x%04x", kind)
	if binary.BigEndian.Uint16(b) != 0 {
		d.rest(b[4:])
		return
	}
	d.inside(kind, b[4:])
}

// mpls reads a label. What is behind the last one does not say what it is: an IP packet is told by its
// first four bits, and, as a MAC address may begin with the same, a frame by what lies where its EtherType is.
func (d *describer) mpls(b []byte) {
	if !d.enough("mpls", b, 4) {
		return
	}
	word := binary.BigEndian.Uint32(b)
	if word>>8&1 == 0 {
		d.add("mpls", "label %d, ttl %d, more follow", word>>12, word&0xff)
		d.mpls(b[4:])
		return
	}
	d.add("mpls", "label %d, ttl %d", word>>12, word&0xff)
	switch inner := b[4:]; {
	case holdsFrame(inner):
		d.ethernet(inner)
	case len(inner) >= controlWord && inner[0]>>4 == 0 && holdsFrame(inner[controlWord:]):
		d.add("control word", "0x%08x", binary.BigEndian.Uint32(inner))
		d.ethernet(inner[controlWord:])
	case len(inner) > 0 && inner[0]>>4 == 4:
		d.ip4(inner)
	case len(inner) > 0 && inner[0]>>4 == 6:
		d.ip6(inner)
	default:
		d.rest(inner)
	}
}

const controlWord = 4 // bytes: RFC 4385, section 3

// holdsFrame tells whether bytes look like a frame of IP or ARP, and not like an IPv4 packet.
func holdsFrame(b []byte) bool {
	if len(b) <= ethernetLen || len(b) >= ip4Len && b[0] == 0x45 && checksum(b[:ip4Len]) == 0 {
		return false
	}
	switch binary.BigEndian.Uint16(b[12:]) {
	case 0x0800:
		return b[ethernetLen]>>4 == 4
	case 0x86dd:
		return b[ethernetLen]>>4 == 6
	case 0x0806:
		return b[ethernetLen] == 0 && len(b) > ethernetLen+1 && b[ethernetLen+1] == 1 // of Ethernet
	}
	return false
}

func (d *describer) tcp(b []byte) {
	if !d.enough("tcp", b, 20) {
		return
	}
	var flags []string
	for i, name := range []string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"} {
		if b[13]>>i&1 != 0 {
			flags = append(flags, name)
		}
	}
	d.add("tcp", "%d > %d, %s", binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), strings.Join(flags, " "))
	d.rest(b[min(len(b), max(20, int(b[12]>>4)*4)):])
}

func (d *describer) icmp(b []byte) {
	if !d.enough("icmp", b, 8) {
		return
	}
	switch {
	case b[0] == 0:
		d.add("icmp", "echo reply")
	case b[0] == 8:
		d.add("icmp", "echo request")
	case b[0] == 3 && b[1] == 4:
		d.add("icmp", "fragmentation needed, MTU %d; it quotes:", binary.BigEndian.Uint16(b[6:]))
		d.ip4(b[8:])
		return
	default:
		d.add("icmp", "type %d, code %d", b[0], b[1])
	}
	d.rest(b[8:])
}

// icmp6 is RFC 4443's, and RFC 4861's of neighbours.
func (d *describer) icmp6(b []byte) {
	if !d.enough("icmpv6", b, 8) {
		return
	}
	switch {
	case b[0] == 128:
		d.add("icmpv6", "echo request")
	case b[0] == 129:
		d.add("icmpv6", "echo reply")
	case b[0] == 2:
		d.add("icmpv6", "packet too big, MTU %d; it quotes:", binary.BigEndian.Uint32(b[4:]))
		d.ip6(b[8:])
		return
	case (b[0] == 135 || b[0] == 136) && len(b) >= 24:
		target, _ := netip.AddrFromSlice(b[8:24])
		d.add("icmpv6", map[byte]string{135: "neighbour solicitation: who has %s?", 136: "neighbour advertisement of %s"}[b[0]], target)
		return
	default:
		d.add("icmpv6", "type %d, code %d", b[0], b[1])
	}
	d.rest(b[8:])
}
