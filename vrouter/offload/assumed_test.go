package offload

import (
	"encoding/binary"
	"net/netip"

	"windtunnel/vrouter/core"
)

// totalOf is how long an IP packet says that it is.
func totalOf(ip []byte) int {
	if ip[0]>>4 == 6 {
		return 40 + int(binary.BigEndian.Uint16(ip[4:]))
	}
	return int(binary.BigEndian.Uint16(ip[2:]))
}

// transportRight is what AssumeTransport says of the header behind an IP header.
func transportRight(p parsed, wrapped bool) bool {
	bytes := totalOf(p.data) - p.length
	least := map[uint8]int{core.ProtocolTCP: 20, core.ProtocolUDP: 8, core.ProtocolICMP: 8, protocolGRE: 4}[p.protocol]
	if bytes < least || p.length+least > len(p.data) {
		return false
	}
	l4 := p.data[p.length:]
	switch p.protocol {
	case core.ProtocolTCP:
		header := int(l4[12]>>4) * 4
		return header >= 20 && header <= bytes
	case core.ProtocolUDP:
		length := int(binary.BigEndian.Uint16(l4[4:]))
		return length >= 8 && length <= bytes && (!wrapped || length == bytes)
	}
	return true
}

// nodeSource is what AssumeSource says of an outer header.
func nodeSource(ip []byte) bool {
	from, _ := netip.AddrFromSlice(ip[12:16])
	to, _ := netip.AddrFromSlice(ip[16:20])
	if ip[0]>>4 == 6 {
		from, _ = netip.AddrFromSlice(ip[8:24])
		to, _ = netip.AddrFromSlice(ip[24:40])
		return from != to && !from.IsMulticast() && from != netip.IPv6Loopback() && from != netip.IPv6Unspecified()
	}
	return from != to && ip[12] != 0 && !from.IsLoopback() && !from.IsMulticast() && from != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}
