package core

import (
	"encoding/binary"
	"net/netip"
)

// What a tunnel wraps packets in, as in vr_types.h.
const (
	Bare = iota
	MPLSoUDP
	MPLSoGRE
	VXLAN
	FrameMPLSoUDP
	FrameMPLSoGRE
	WordMPLSoUDP
	WordMPLSoGRE
)

const (
	outerTTL     = 64
	labelTTL     = 64
	portMPLSoUDP = 6635 // RFC 7510, section 5
	portVXLAN    = 4789 // RFC 7348, section 8
	protocolUDP  = 17
	protocolGRE  = 47
	etherMPLS    = 0x8847
)

// A Tunnel is what all packets of a tunnel nexthop have in common. Both addresses are of one family.
type Tunnel struct {
	Encapsulation       uint8
	Source, Destination netip.Addr
	VNI                 uint32  // with VXLAN, as what follows, which other frames bring along
	InnerDestination    [6]byte // of the inner Ethernet header
	InnerSource         [6]byte
}

// Apply fills a nexthop's template in: the headers between the outer Ethernet header and the inner
// packet, with zeros where packets differ, and what else depends on them.
func (t Tunnel) Apply(n *Nexthop) {
	outer := t.outerIPv6()
	if t.Destination.Is4() {
		outer = t.outerIPv4()
		n.Csum = onesSum(outer)
	}
	header := append(outer, t.wrap()...)
	n.Type, n.Encapsulation = NexthopTunnel, t.Encapsulation
	n.Push, n.Outer = uint8(len(header)), uint8(len(outer))
	n.SetAddr(t.Destination)
	copy(n.Header[:], header)
}

// SetAddr says whose the nexthop is.
func (n *Nexthop) SetAddr(a netip.Addr) {
	n.Addr = AddrOf(a)
	if n.Flags &^= NexthopAddr6; a.Is6() {
		n.Flags |= NexthopAddr6
	}
}

// Far is whose the nexthop is.
func (n *Nexthop) Far() netip.Addr {
	if n.Flags&NexthopAddr6 != 0 {
		return n.Addr.IPv6()
	}
	return n.Addr.IPv4()
}

// outerIPv4 has no length, traffic class and checksum yet. It forbids fragments, and so needs no
// identification: RFC 6864, section 4.1.
func (t Tunnel) outerIPv4() []byte {
	header := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, outerTTL, t.protocol(), 0, 0}
	return append(append(header, t.Source.AsSlice()...), t.Destination.AsSlice()...)
}

// outerIPv6 has no traffic class, flow label and length yet: RFC 8200, section 3.
func (t Tunnel) outerIPv6() []byte {
	header := []byte{0x60, 0, 0, 0, 0, 0, t.protocol(), outerTTL}
	return append(append(header, t.Source.AsSlice()...), t.Destination.AsSlice()...)
}

func (t Tunnel) protocol() byte {
	switch t.Encapsulation {
	case MPLSoGRE, FrameMPLSoGRE, WordMPLSoGRE:
		return protocolGRE
	}
	return protocolUDP
}

// HasUDP tells whether a tunnel nexthop's headers have UDP.
func (n *Nexthop) HasUDP() bool {
	return Tunnel{Encapsulation: n.Encapsulation}.protocol() == protocolUDP
}

// wrap is what stands behind the outer IP header.
func (t Tunnel) wrap() []byte {
	const word, ethernet = 4, 14
	if t.Encapsulation != VXLAN {
		header := udpTo(portMPLSoUDP)
		if t.protocol() == protocolGRE {
			header = []byte{0, 0, etherMPLS >> 8, etherMPLS & 0xff}
		}
		header = append(header, 0, 0, 1, labelTTL) // the bottom of the stack: RFC 3032, section 2.1
		behind := map[uint8]int{FrameMPLSoUDP: ethernet, FrameMPLSoGRE: ethernet, WordMPLSoUDP: word + ethernet, WordMPLSoGRE: word + ethernet}
		return append(header, make([]byte, behind[t.Encapsulation])...)
	}
	header := append(udpTo(portVXLAN), 0x08, 0, 0, 0)
	header = binary.BigEndian.AppendUint32(header, t.VNI<<8)
	header = append(append(header, t.InnerDestination[:]...), t.InnerSource[:]...)
	return append(header, 0x08, 0x00)
}

func udpTo(port uint16) []byte {
	return []byte{0, 0, byte(port >> 8), byte(port), 0, 0, 0, 0}
}

// VNI is that of a VXLAN nexthop, 0 of any other.
func (n *Nexthop) VNI() uint32 {
	if n.Type != NexthopTunnel || n.Encapsulation != VXLAN {
		return 0
	}
	return binary.BigEndian.Uint32(n.Header[n.Outer+12:]) >> 8
}

// onesSum adds words as they lie in memory: RFC 1071, section 2 (B). It is not complemented.
func onesSum(data []byte) uint32 {
	var sum uint32
	for i := 0; i+1 < len(data); i += 2 {
		sum += uint32(binary.LittleEndian.Uint16(data[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum
}

// VNIWord is an entry of the VNI table.
func VNIWord(vni, vrf uint32) uint64 { return uint64(vrf)<<32 | uint64(vni) }

// VNIOf is the reverse of VNIWord.
func VNIOf(word uint64) (vni, vrf uint32) { return uint32(word) & 0xffffff, uint32(word >> 32) }

// VNIBucket is the first slot of those that may hold a VNI, as VR_VNI_BUCKET in vr_types.h has it.
func VNIBucket(vni uint32) uint32 { return vni * 0x9e3779b1 >> (32 - 9) * VNIWays }
