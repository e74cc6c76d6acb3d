package parity

import (
	"encoding/binary"
	"net/netip"

	"windtunnel/vrouter/config"
)

var big = binary.BigEndian

// ethernet puts a header in front.
func ethernet(to, from config.MAC, kind uint16, payload []byte) []byte {
	return append(big.AppendUint16(append(append(make([]byte, 0, 14+len(payload)), to[:]...), from[:]...), kind), payload...)
}

// fromPort is what a container may send.
func (s *source) fromPort() frame {
	p := one(s, s.config.Ports...)
	from := mostly(s, p.MAC, s.macs...)
	to := config.GatewayMAC
	if s.IntN(3) == 0 {
		to = one(s, s.macs...)
	}
	switch s.IntN(12) {
	case 0:
		return frame{p.Interface, ethernet(to, from, 0x0806, s.arp(p))}
	case 1:
		return frame{p.Interface, ethernet(to, from, one[uint16](s, 0x8100, 0x88a8, 0x88cc, 0x8847, 64, uint16(s.Uint32())), s.noise(46))}
	}
	kind, packet := s.ip(p.Network, mostly(s, p.Address, s.four[p.Network]...), mostly(s, p.Address6, s.six[p.Network]...))
	return frame{p.Interface, s.padded(ethernet(to, from, kind, packet))}
}

// padded has bytes behind the packet, as short frames on Ethernet do.
func (s *source) padded(b []byte) []byte {
	if s.rarely() {
		return append(b, s.noise(1+s.IntN(40))...)
	}
	return b
}

// arp is RFC 826's packet.
func (s *source) arp(p config.Port) []byte {
	b := []byte{0, 1, 8, 0, 6, 4, 0, mostly[byte](s, 1, 2, 3)}
	ask := one(s, s.four[p.Network]...).As4()
	mac, from := mostly(s, p.MAC, s.macs...), mostly(s, p.Address, s.four[p.Network]...).As4()
	b = append(append(b, mac[:]...), from[:]...)
	return append(append(append(b, make([]byte, 6)...), ask[:]...), make([]byte, s.IntN(20))...)
}

// ip is an IP packet between a source and somebody in a network, with its EtherType.
func (s *source) ip(network string, from4, from6 netip.Addr) (uint16, []byte) {
	if s.IntN(5) < 3 || len(s.six[network]) == 0 || !from6.Is6() {
		return mostly[uint16](s, 0x0800, 0x86dd), s.ip4(from4, one(s, s.four[network]...), 2)
	}
	return mostly[uint16](s, 0x86dd, 0x0800), s.ip6(from6, one(s, s.six[network]...), 2)
}

// ip4 is an IPv4 packet; what it holds may quote others, so deep.
func (s *source) ip4(from, to netip.Addr, deep int) []byte {
	src, dst := from.As4(), to.As4()
	options := 0
	if s.rarely() {
		options = 4 * s.IntN(11)
	}
	fragment := mostly(s, one[uint16](s, 0, 0x4000), 0x2000, 0x2001, 185, 0x8000, uint16(s.Uint32()))
	header := make([]byte, 20, 20+options)
	for range options {
		header = append(header, mostly[byte](s, 1, 0, 7, 68, 131, 255))
	}
	protocol, body := s.transport(append(src[:], dst[:]...), 4, deep)
	header[0], header[1] = 0x40|byte(len(header)/4), one[byte](s, 0, 1, 2, 3, 0xb8)
	big.PutUint16(header[2:], mostly(s, uint16(len(header)+len(body)), uint16(s.Uint32()), uint16(s.IntN(100))))
	big.PutUint16(header[4:], uint16(s.Uint32()))
	big.PutUint16(header[6:], fragment)
	header[8], header[9] = mostly[byte](s, 64, 0, 1, 2, 255), protocol
	copy(header[12:], src[:])
	copy(header[16:], dst[:])
	big.PutUint16(header[10:], mostly(s, sum(header), sum(header), uint16(s.Uint32())))
	return append(header, body...)
}

// ip6 is an IPv6 packet with extension headers, or none.
func (s *source) ip6(from, to netip.Addr, deep int) []byte {
	src, dst := from.As16(), to.As16()
	next, body := s.transport(append(src[:], dst[:]...), 6, deep)
	if s.IntN(6) == 0 {
		for range 1 + s.IntN(4) {
			next, body = s.extension(next, body)
		}
	}
	header := big.AppendUint32(nil, 6<<28|uint32(one(s, 0, 1, 2, 3, 0xb8))<<20|s.Uint32()&0xfffff)
	header = big.AppendUint16(header, mostly(s, uint16(len(body)), uint16(s.Uint32()), 0))
	header = append(header, next, mostly[byte](s, one[byte](s, 64, 255), 0, 1, 2))
	return append(append(append(header, src[:]...), dst[:]...), body...)
}

// extension puts an extension header in front: RFC 8200, section 4.
func (s *source) extension(next byte, body []byte) (byte, []byte) {
	kind := one[byte](s, 0, 43, 44, 60, 51, 135)
	length := 0
	if s.rarely() {
		length = s.IntN(4)
	}
	header := append([]byte{next, mostly(s, byte(length), byte(s.Uint32()))}, make([]byte, 6+8*length)...)
	if kind == 44 {
		header = append([]byte{next, 0}, s.noise(6)...)
		big.PutUint16(header[2:], one[uint16](s, 0, 1, 1, 0x0009, uint16(s.Uint32())))
	}
	return kind, append(header, body...)
}

// transport is what an IP packet holds between such addresses, and its protocol.
func (s *source) transport(addresses []byte, version, deep int) (protocol byte, body []byte) {
	at := 0
	switch s.IntN(9) {
	case 0, 1, 2:
		protocol, body, at = 6, s.tcp(), 16
	case 3, 4:
		protocol, body, at = 17, s.udp(), 6
	case 5:
		return 47, append([]byte{0, 0, 0x88, 0x47}, s.noise(20)...)
	case 6:
		return byte(s.Uint32()), s.noise(s.IntN(60))
	default:
		protocol, body, at = 1, s.icmp(deep), 2
		if version == 6 {
			protocol, body = 58, s.icmp6(deep)
		}
	}
	s.seal(addresses, version, protocol, body, at)
	return protocol, body
}

// seal writes the checksum; it is seldom looked at.
func (s *source) seal(addresses []byte, version int, protocol byte, body []byte, at int) {
	if at+2 > len(body) {
		return
	}
	pseudo := big.AppendUint16(append(addresses[:len(addresses):len(addresses)], 0, protocol), uint16(len(body)))
	if version == 4 && protocol == 1 {
		pseudo = nil
	}
	big.PutUint16(body[at:], 0)
	big.PutUint16(body[at:], mostly(s, sum(pseudo, body), 0, uint16(s.Uint32())))
}

// payload has any length, and often one at an edge of an MTU.
func (s *source) payload() []byte {
	if s.IntN(20) == 0 {
		return s.noise(1360 + s.IntN(160))
	}
	return s.noise(mostly(s, s.IntN(64), s.IntN(600), 0))
}

func (s *source) port() uint16 { return mostly(s, uint16(s.Uint32()), 80, 53, 4789, 6635) }

// tcp has options behind its header, a SYN's segment size among them.
func (s *source) tcp() []byte {
	b := big.AppendUint16(big.AppendUint16(nil, s.port()), s.port())
	b = append(b, s.noise(8)...)
	var options []byte
	for range s.IntN(4) {
		options = append(options, one(s, []byte{1}, []byte{0}, []byte{2, 4, byte(s.Uint32()), byte(s.Uint32())}, []byte{3, 3, 7}, []byte{4, 2}, s.noise(3))...)
	}
	for len(options)%4 != 0 {
		options = append(options, 1)
	}
	offset := mostly(s, byte(20+len(options))/4, byte(s.IntN(16)))
	b = append(b, offset<<4, one[byte](s, 2, 2, 0x12, 0x10, 0x18, 1, 4, byte(s.Uint32())), 0xff, 0xff, 0, 0, 0, 0)
	return append(append(b, options...), s.payload()...)
}

func (s *source) udp() []byte {
	payload := s.payload()
	b := big.AppendUint16(big.AppendUint16(nil, s.port()), s.port())
	return append(append(big.AppendUint16(b, mostly(s, uint16(8+len(payload)), uint16(s.Uint32()), 0, 8)), 0, 0), payload...)
}

// quoted is the packet that an ICMP error is about.
func (s *source) quoted(version, deep int) []byte {
	n := one(s, s.config.Networks...)
	if deep == 0 {
		return s.noise(28)
	}
	if version == 6 && len(s.six[n.Name]) > 0 {
		return s.ip6(one(s, s.six[n.Name]...), one(s, s.six[n.Name]...), deep-1)
	}
	return s.ip4(one(s, s.four[n.Name]...), one(s, s.four[n.Name]...), deep-1)
}

func (s *source) icmp(deep int) []byte {
	if s.often() {
		return append([]byte{one[byte](s, 8, 8, 0, 13), mostly[byte](s, 0, 1), 0, 0}, s.noise(4+s.IntN(60))...)
	}
	b := append([]byte{one[byte](s, 3, 11, 12, 5), byte(s.IntN(5)), 0, 0}, s.noise(4)...)
	quote := s.quoted(4, deep)
	return append(b, quote[:min(len(quote), mostly(s, 576, s.IntN(60)))]...)
}

// icmp6 has neighbour discovery as well: RFC 4861.
func (s *source) icmp6(deep int) []byte {
	switch s.IntN(3) {
	case 0:
		return append([]byte{one[byte](s, 128, 128, 129), mostly[byte](s, 0, 1), 0, 0}, s.noise(4+s.IntN(60))...)
	case 1:
		b := append([]byte{one[byte](s, 1, 2, 3, 4), byte(s.IntN(5)), 0, 0}, s.noise(4)...)
		quote := s.quoted(6, deep)
		return append(b, quote[:min(len(quote), mostly(s, 1232, s.IntN(80)))]...)
	}
	n := one(s, s.config.Networks...)
	target := netip.IPv6LinkLocalAllNodes()
	if len(s.six[n.Name]) > 0 {
		target = one(s, s.six[n.Name]...)
	}
	mac, address := one(s, s.macs...), target.As16()
	b := append([]byte{one[byte](s, 133, 134, 135, 135, 136, 143), 0, 0, 0, 0, 0, 0, 0}, address[:]...)
	for range s.IntN(3) {
		b = append(append(b, one[byte](s, 1, 2, 5, 14), mostly[byte](s, 1, 0, 2)), mac[:]...)
	}
	return b
}
