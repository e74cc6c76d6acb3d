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

// Spec is an IPv4 packet, or an ARP request, in an Ethernet frame.
type Spec struct {
	SourceMAC, DestinationMAC   [6]byte
	Source, Destination         netip.Addr
	Protocol                    string // one of Protocols
	SourcePort, DestinationPort uint16
	Size                        int // bytes, of the IP packet; 0: as short as it can be
	TTL                         uint8
	TOS                         uint8 // traffic class: DSCP and ECN
	DontFragment                bool
}

// Protocols are those that Build knows.
var Protocols = []string{"icmp", "udp", "tcp", "arp"}

const (
	ethernetLen = 14
	ip4Len      = 20
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoGRE    = 47
)

var numbers = map[string]uint8{"icmp": protoICMP, "udp": protoUDP, "tcp": protoTCP}
var headers = map[string]int{"icmp": 8, "udp": 8, "tcp": 20}

// Build makes the frame, with all its checksums.
func Build(s Spec) ([]byte, error) {
	switch {
	case !slices.Contains(Protocols, s.Protocol):
		return nil, fmt.Errorf("there is no protocol %q; there is %s", s.Protocol, strings.Join(Protocols, ", "))
	case !s.Source.Is4() || !s.Destination.Is4():
		return nil, fmt.Errorf("%s to %s: only IPv4 can be made; give other frames as they are", s.Source, s.Destination)
	case s.Protocol == "arp":
		return s.arp(), nil
	}
	shortest := ip4Len + headers[s.Protocol]
	size := max(s.Size, shortest)
	if s.Size != 0 && s.Size < shortest || s.Size > 0xffff {
		return nil, fmt.Errorf("an IPv4 packet with %s has %d to 65535 bytes, not %d", s.Protocol, shortest, s.Size)
	}
	frame := append(s.ethernet(0x0800), make([]byte, size)...)
	ip := frame[ethernetLen:]
	ip[0], ip[1] = 0x45, s.TOS
	binary.BigEndian.PutUint16(ip[2:], uint16(size))
	if s.DontFragment {
		ip[6] = 0x40
	}
	ip[8], ip[9] = s.TTL, numbers[s.Protocol]
	copy(ip[12:], s.Source.AsSlice())
	copy(ip[16:], s.Destination.AsSlice())
	binary.BigEndian.PutUint16(ip[10:], checksum(ip[:ip4Len]))
	s.payload(ip)
	return frame, nil
}

func (s Spec) ethernet(kind uint16) []byte {
	header := append(append([]byte{}, s.DestinationMAC[:]...), s.SourceMAC[:]...)
	return binary.BigEndian.AppendUint16(header, kind)
}

// payload fills in what is behind the IPv4 header.
func (s Spec) payload(ip []byte) {
	l4 := ip[ip4Len:]
	if s.Protocol == "icmp" {
		l4[0] = 8 // an echo request
		binary.BigEndian.PutUint16(l4[2:], checksum(l4))
		return
	}
	binary.BigEndian.PutUint16(l4, s.SourcePort)
	binary.BigEndian.PutUint16(l4[2:], s.DestinationPort)
	pseudo := append(append([]byte{}, ip[12:20]...), 0, numbers[s.Protocol])
	pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(len(l4)))
	at := 16
	if s.Protocol == "udp" {
		at = 6
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
	} else {
		l4[12], l4[13] = 5<<4, 2 // no options, SYN
		binary.BigEndian.PutUint16(l4[14:], 65535)
	}
	sum := checksum(pseudo, l4)
	if sum == 0 && s.Protocol == "udp" {
		sum = 0xffff // RFC 768: 0 means that there is none
	}
	binary.BigEndian.PutUint16(l4[at:], sum)
}

func (s Spec) arp() []byte {
	s.DestinationMAC = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	frame := append(s.ethernet(0x0806), 0, 1, 8, 0, 6, 4, 0, 1) // RFC 826: Ethernet, IPv4, a request
	frame = append(append(frame, s.SourceMAC[:]...), s.Source.AsSlice()...)
	return append(append(frame, make([]byte, 6)...), s.Destination.AsSlice()...)
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
