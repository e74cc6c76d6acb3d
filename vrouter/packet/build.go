// Package packet makes frames for the tools to try, and tells in words what a frame is. The data
// path does not use it: what it tells is what anybody would read in the bytes.
package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Spec is an IPv4 or IPv6 packet, or a question for a MAC address, in an Ethernet frame. Addresses are
// of one family.
type Spec struct {
	SourceMAC, DestinationMAC   [6]byte
	Source, Destination         netip.Addr
	Protocol                    string // one of Protocols
	SourcePort, DestinationPort uint16
	Size                        int   // bytes, of the IP packet; 0: as short as it can be
	TTL                         uint8 // or hop limit
	TOS                         uint8 // traffic class: DSCP and ECN
	DontFragment                bool  // IPv6 packets never may be
}

// Protocols are those that Build knows: icmp is an echo request of the addresses' family; arp and nd
// ask for the destination's MAC address.
var Protocols = []string{"icmp", "udp", "tcp", "arp", "nd"}

const (
	ethernetLen = 14
	ip4Len      = 20
	ip6Len      = 40
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoGRE    = 47
	protoICMP6  = 58
)

// transports are the lengths of headers, in bytes.
var transports = map[string]struct {
	number uint8
	header int
}{"icmp": {protoICMP, 8}, "udp": {protoUDP, 8}, "tcp": {protoTCP, 20}}

// Build makes the frame, with all its checksums.
func Build(s Spec) ([]byte, error) {
	switch {
	case !slices.Contains(Protocols, s.Protocol):
		return nil, fmt.Errorf("there is no protocol %q; there is %s", s.Protocol, strings.Join(Protocols, ", "))
	case s.Source.Is4() != s.Destination.Is4():
		return nil, fmt.Errorf("%s and %s are of different families", s.Source, s.Destination)
	case s.Protocol == "arp" && !s.Source.Is4() || s.Protocol == "nd" && s.Source.Is4():
		return nil, fmt.Errorf("%s does not ask for %s; arp is for IPv4, nd for IPv6", s.Protocol, s.Destination)
	case s.Protocol == "arp":
		return s.arp(), nil
	case s.Protocol == "nd":
		return s.solicitation(), nil
	}
	header := ip4Len
	if s.Source.Is6() {
		header = ip6Len
	}
	shortest := header + transports[s.Protocol].header
	size := max(s.Size, shortest)
	if s.Size != 0 && s.Size < shortest || s.Size > 0xffff {
		return nil, fmt.Errorf("an IP packet with %s has %d to 65535 bytes, not %d", s.Protocol, shortest, s.Size)
	}
	l4 := make([]byte, size-header)
	number := s.transport(l4)
	if s.Source.Is4() {
		return append(append(s.ethernet(0x0800), s.ip4(number, size)...), l4...), nil
	}
	return append(append(s.ethernet(0x86dd), s.ip6(number, len(l4))...), l4...), nil
}

func (s Spec) ethernet(kind uint16) []byte {
	header := append(append([]byte{}, s.DestinationMAC[:]...), s.SourceMAC[:]...)
	return binary.BigEndian.AppendUint16(header, kind)
}

func (s Spec) ip4(number uint8, size int) []byte {
	ip := make([]byte, ip4Len)
	ip[0], ip[1] = 0x45, s.TOS
	binary.BigEndian.PutUint16(ip[2:], uint16(size))
	if s.DontFragment {
		ip[6] = 0x40
	}
	ip[8], ip[9] = s.TTL, number
	copy(ip[12:], s.Source.AsSlice())
	copy(ip[16:], s.Destination.AsSlice())
	binary.BigEndian.PutUint16(ip[10:], checksum(ip))
	return ip
}

func (s Spec) ip6(number uint8, payload int) []byte {
	ip := []byte{6<<4 | s.TOS>>4, s.TOS << 4, 0, 0, byte(payload >> 8), byte(payload), number, s.TTL}
	return append(append(ip, s.Source.AsSlice()...), s.Destination.AsSlice()...)
}

// transport fills in what is behind the IP header, and gives its protocol number.
func (s Spec) transport(l4 []byte) uint8 {
	number := transports[s.Protocol].number
	if s.Protocol == "icmp" && s.Source.Is4() {
		l4[0] = 8 // an echo request
		binary.BigEndian.PutUint16(l4[2:], checksum(l4))
		return number
	}
	at := 2
	switch s.Protocol {
	case "icmp":
		number, l4[0] = protoICMP6, 128
	case "udp":
		at = 6
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
	case "tcp":
		at = 16
		l4[12], l4[13] = 5<<4, 2 // no options, SYN
		binary.BigEndian.PutUint16(l4[14:], 65535)
	}
	if s.Protocol != "icmp" {
		binary.BigEndian.PutUint16(l4, s.SourcePort)
		binary.BigEndian.PutUint16(l4[2:], s.DestinationPort)
	}
	s.seal(number, l4, at)
	return number
}

// seal puts in the checksum over the pseudo-header and the rest: RFC 768, RFC 8200, section 8.1.
func (s Spec) seal(number uint8, l4 []byte, at int) {
	pseudo := append(append([]byte{}, s.Source.AsSlice()...), s.Destination.AsSlice()...)
	pseudo = append(pseudo, 0, number, byte(len(l4)>>8), byte(len(l4)))
	sum := checksum(pseudo, l4)
	if sum == 0 && number == protoUDP {
		sum = 0xffff // 0 means that there is none
	}
	binary.BigEndian.PutUint16(l4[at:], sum)
}

func (s Spec) arp() []byte {
	s.DestinationMAC = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	frame := append(s.ethernet(0x0806), 0, 1, 8, 0, 6, 4, 0, 1) // RFC 826: Ethernet, IPv4, a request
	frame = append(append(frame, s.SourceMAC[:]...), s.Source.AsSlice()...)
	return append(append(frame, make([]byte, 6)...), s.Destination.AsSlice()...)
}

// solicitation is a neighbour's: RFC 4861, section 4.3, to the solicited-node address, with the
// sender's MAC.
func (s Spec) solicitation() []byte {
	target := s.Destination.As16()
	group := [16]byte{0xff, 2, 11: 1, 12: 0xff, 13: target[13], 14: target[14], 15: target[15]}
	s.Destination, s.TTL = netip.AddrFrom16(group), 255
	s.DestinationMAC = [6]byte{0x33, 0x33, 0xff, target[13], target[14], target[15]}
	l4 := append([]byte{135, 0, 0, 0, 0, 0, 0, 0}, target[:]...)
	l4 = append(append(l4, 1, 1), s.SourceMAC[:]...)
	s.seal(protoICMP6, l4, 2)
	return append(append(s.ethernet(0x86dd), s.ip6(protoICMP6, len(l4))...), l4...)
}

// checksum is RFC 1071's, over parts of which all but the last are of even length.
func checksum(parts ...[]byte) uint16 {
	var sum uint32
	for _, b := range parts {
		for i := 0; i < len(b); i += 2 {
			sum += uint32(b[i]) << 8
			if i+1 < len(b) {
				sum += uint32(b[i+1])
			}
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
