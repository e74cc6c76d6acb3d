package offload

import (
	"fmt"
	"net/netip"

	"windtunnel/vrouter/core"
)

const (
	portMPLSoUDP = 6635 // RFC 7510, section 5
	portVXLAN    = 4789 // RFC 7348, section 8
	protocolGRE  = 47
	etherMPLS    = 0x8847

	ethLen  = 14
	flagSYN = 2
)

// An inner is what a pattern says of an IP packet.
type inner struct {
	six           bool
	from, to      netip.Prefix // invalid: any
	l4            l4
	ttl           *class // nil: any
	ecn           *class
	withoutHeader bool // Flower has no word for IPv4's header length; its dissector heeds it
}

// A class is values that have some bits in common.
type class struct{ value, mask uint64 }

// ttls are those that rules take. Masks cannot say "2 or more" in one, and ranges are rare in devices; what
// hosts send begins with 64, 128 or 255, and what has come down under 64 is left to software.
var ttls = []class{{0x80, 0x80}, {0x40, 0xc0}}

// An l4 is what a pattern says of the next protocol.
type l4 struct {
	protocol uint8
	fields   []Field
	name     string
}

/*
whole are patterns for all packets that cannot be a tunnel's, which containers may not send, nor tunnels
hold. UDP's are told by the port that they are sent to: no mask leaves out two numbers, so that the ports
from 4096 to 8191, with both of the tunnels', go by software. So does ICMPv6, whose messages of
neighbour discovery software answers, and every other protocol.
*/
func whole(six, clamp bool) []l4 {
	all := []l4{{protocol: core.ProtocolTCP, fields: withoutSYN(clamp), name: "tcp"}}
	for _, c := range []class{{0x8000, 0x8000}, {0x4000, 0xc000}, {0x2000, 0xe000}, {0, 0xf000}} {
		all = append(all, l4{
			protocol: core.ProtocolUDP, fields: []Field{masked("dst", c.value, c.mask, 16)},
			name: fmt.Sprintf("udp to %d-%d", c.value, c.value|0xffff&^c.mask),
		})
	}
	if !six {
		all = append(all, l4{protocol: core.ProtocolICMP, name: "icmp"})
	}
	return all
}

// withoutSYN leaves packets to software whose segment size is clamped there.
func withoutSYN(clamp bool) []Field {
	if !clamp {
		return nil
	}
	return []Field{masked("flags", 0, flagSYN, 8)}
}

// l4 is the pattern of one flow.
func (f Flow) l4(clamp bool) (l4, *Refusal) {
	ports := []Field{number("src", uint64(f.From), 16), number("dst", uint64(f.To), 16)}
	switch f.Protocol {
	case core.ProtocolTCP:
		return l4{f.Protocol, append(ports, withoutSYN(clamp)...), "tcp"}, nil
	case core.ProtocolUDP:
		if f.To == portMPLSoUDP || f.To == portVXLAN {
			return l4{}, refuse(TenantTunnel, "UDP to %d is a tunnel's, which a container may not send", f.To)
		}
		return l4{f.Protocol, ports, "udp"}, nil
	case core.ProtocolICMP:
		if f.Source.Is4() {
			return l4{protocol: f.Protocol, name: "icmp"}, nil
		}
	}
	return l4{}, refuse(Unmatchable, "of protocol %d some packets are lost or answered, and no pattern tells which", f.Protocol)
}

// items are the headers of the packet.
func (i inner) items() []Item {
	items := []Item{i.ip()}
	switch i.l4.protocol {
	case core.ProtocolTCP:
		return append(items, Item{TCP, i.l4.fields})
	case core.ProtocolUDP:
		return append(items, Item{UDP, i.l4.fields})
	case protocolGRE:
		return append(items, Item{GRE, i.l4.fields})
	}
	return append(items, Item{Kind: ICMP})
}

func (i inner) ip() Item {
	item := Item{Kind: IPv4}
	tos, ttl := "tos", "ttl"
	if i.six {
		item.Kind, tos, ttl = IPv6, "tc", "hop"
	}
	add := func(fields ...Field) { item.Fields = append(item.Fields, fields...) }
	switch {
	case i.six:
		add(number("has_frag_ext", 0, 1))
	case i.withoutHeader:
		add(masked("fragment_offset", 0, 0x3fff, 16))
	default:
		add(number("version_ihl", 0x45, 8), masked("fragment_offset", 0, 0x3fff, 16))
	}
	if i.ecn != nil {
		add(masked(tos, i.ecn.value, i.ecn.mask, 8))
	}
	if i.ttl != nil {
		add(masked(ttl, i.ttl.value, i.ttl.mask, 8))
	}
	add(number("proto", uint64(i.l4.protocol), 8))
	if i.from.IsValid() {
		add(leading("src", i.from.Addr().AsSlice(), i.from.Bits()))
	}
	if i.to.IsValid() {
		add(leading("dst", i.to.Addr().AsSlice(), i.to.Bits()))
	}
	return item
}

// integrity is what the device must have found right of the IP header at a level.
func integrity(level uint64, six bool) Item {
	bits := uint64(integrityL3 | integrityL3Length)
	if !six {
		bits |= integrityIPv4Sum
	}
	return Item{Integrity, []Field{number("level", level, 32), masked("value", bits, bits, 64)}}
}

func ethType(six bool) uint64 {
	if six {
		return 0x86dd
	}
	return 0x0800
}

func eth(fields ...Field) Item { return Item{Eth, fields} }

// mac is the address of a word.
func mac(word uint64) []byte {
	m, _ := core.MACOf(word)
	return m[:]
}

func host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
