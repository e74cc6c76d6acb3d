package parity

import (
	"net/netip"

	"windtunnel/vrouter/config"
)

// fromFabric is what another node, or anybody else on the underlay, may send.
func (s *source) fromFabric() frame {
	node := config.MAC{2, 0, 0, 0, 0, 1} // golden.Facts says so
	to, from := mostly(s, node, s.macs...), config.MAC{2, 0, 0, 0, 0, byte(2 + s.IntN(2))}
	if s.IntN(6) == 0 { // without a tunnel
		n := one(s, s.config.Networks...)
		kind, packet := s.ip(n.Name, one(s, s.four[n.Name]...), one(s, append(s.six[n.Name], netip.IPv6LinkLocalAllNodes())...))
		return frame{fabric, s.padded(ethernet(to, from, kind, packet))}
	}
	protocol, body := s.tunnel()
	if s.often() {
		return frame{fabric, s.padded(ethernet(to, from, 0x0800, s.outer4(protocol, body)))}
	}
	return frame{fabric, s.padded(ethernet(to, from, 0x86dd, s.outer6(protocol, body)))}
}

// outer4 is the header of a node's packets over IPv4.
func (s *source) outer4(protocol byte, body []byte) []byte {
	src := mostly(s, netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + s.IntN(2))}), netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.config.Fabric.Address).As4()
	dst := mostly(s, s.config.Fabric.Address, netip.AddrFrom4([4]byte{10, 0, 0, 9})).As4()
	h := []byte{0x45, one[byte](s, 0, 1, 2, 3)}
	h = big.AppendUint16(h, mostly(s, uint16(20+len(body)), uint16(s.IntN(2000))))
	h = big.AppendUint16(big.AppendUint16(h, uint16(s.Uint32())), mostly[uint16](s, 0x4000, 0, 0x2000, 100))
	h = append(append(append(h, mostly[byte](s, 64, 0, 1, 255), protocol, 0, 0), src[:]...), dst[:]...)
	if protocol == 17 && s.rarely() {
		s.seal(append(src[:], dst[:]...), 4, protocol, body, 6)
	}
	repair(h, 0)
	return append(h, body...)
}

// outer6 is the header of a node's packets over IPv6, where most have a checksum: RFC 6935.
func (s *source) outer6(protocol byte, body []byte) []byte {
	src := one(s, netip.MustParseAddr("fd00:f::2"), netip.MustParseAddr("fd00:f::3"), netip.MustParseAddr("fd00:f:5::77"), netip.MustParseAddr("fd00:abcd::1")).As16()
	dst := mostly(s, s.config.Fabric.Address6, netip.MustParseAddr("fd00:f::9")).As16()
	if protocol == 17 && s.often() {
		s.seal(append(src[:], dst[:]...), 6, protocol, body, 6)
	}
	if s.rarely() {
		protocol, body = s.extension(protocol, body)
	}
	h := big.AppendUint32(nil, 6<<28|uint32(s.IntN(4))<<20|s.Uint32()&0xfffff)
	h = append(big.AppendUint16(h, mostly(s, uint16(len(body)), uint16(s.IntN(2000)))), protocol, mostly[byte](s, 64, 0, 255))
	return append(append(append(h, src[:]...), dst[:]...), body...)
}

// tunnel is what stands behind an outer header, with its protocol.
func (s *source) tunnel() (protocol byte, body []byte) {
	switch s.IntN(3) {
	case 0:
		return 17, s.outerUDP(4789, append(s.vxlan(), s.innerFrame()...))
	case 1:
		return 17, s.outerUDP(6635, s.labelled())
	}
	gre := big.AppendUint16(big.AppendUint16(nil, mostly[uint16](s, 0, 0x8000, 0x2000, 1, 0x1000)), mostly[uint16](s, 0x8847, 0x8848, 0x0800))
	return 47, append(gre, s.labelled()...)
}

func (s *source) outerUDP(port uint16, payload []byte) []byte {
	b := big.AppendUint16(big.AppendUint16(nil, uint16(s.Uint32())), port)
	b = big.AppendUint16(b, mostly(s, uint16(8+len(payload)), uint16(s.IntN(2000))))
	return append(append(b, 0, 0), payload...)
}

// vxlan is RFC 7348's header.
func (s *source) vxlan() []byte {
	b := []byte{mostly[byte](s, 8, 0, 0x0c, 0xff), 0, 0, 0}
	return big.AppendUint32(b, mostly(s, one(s, s.vnis...), s.Uint32()&0xffffff)<<8|uint32(mostly(s, 0, 1)))
}

// labelled is an MPLS label, or several, and an IP packet or a frame behind it.
func (s *source) labelled() []byte {
	label := mostly(s, one(s, s.labels...), s.Uint32()&0xfffff, 3)
	b := big.AppendUint32(nil, label<<12|uint32(s.IntN(8))<<9|uint32(mostly(s, 1, 0))<<8|uint32(mostly(s, 64, 0, 1)))
	if s.rarely() {
		b = big.AppendUint32(b, s.Uint32())
	}
	for _, n := range s.config.Networks {
		if n.Bridge == nil || n.Bridge.Label != label || label == 0 || s.rarely() {
			continue
		}
		if n.Bridge.ControlWord {
			b = append(b, mostly[byte](s, 0, 0x10, 0x40), 0, 0, 0)
		}
		return append(b, s.innerFrame()...)
	}
	_, packet := s.inner()
	return append(b, packet...)
}

// inner is an IP packet for somebody in a network.
func (s *source) inner() (uint16, []byte) {
	n := one(s, s.config.Networks...)
	six := append(s.six[n.Name], netip.IPv6LinkLocalAllNodes())
	return s.ip(n.Name, one(s, s.four[n.Name]...), one(s, six...))
}

func (s *source) innerFrame() []byte {
	to := one(s, s.macs...)
	if s.often() {
		to = config.GatewayMAC
	}
	if s.rarely() {
		p := one(s, s.config.Ports...)
		return ethernet(to, one(s, s.macs...), 0x0806, s.arp(p))
	}
	if s.rarely() {
		return ethernet(to, one(s, s.macs...), one[uint16](s, 0x8100, 0x88cc, 46), s.noise(46))
	}
	kind, packet := s.inner()
	return ethernet(to, one(s, s.macs...), kind, packet)
}
