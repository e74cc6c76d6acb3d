// Package icmptest is for tests of what ICMP says of datagrams.
package icmptest

import (
	"encoding/binary"
	"net/netip"
)

// Prohibited is the ICMP message that a filter does not let pass what was sent from one address to another (RFC 792, RFC 1812,
// section 5.2.7.1).
func Prohibited(from, to netip.AddrPort) []byte {
	m := make([]byte, 8+20+8)
	m[0], m[1] = 3, 13
	ip, udp := m[8:], m[28:]
	ip[0], ip[9] = 0x45, 17
	binary.BigEndian.PutUint16(ip[2:], 28)
	copy(ip[12:], from.Addr().AsSlice())
	copy(ip[16:], to.Addr().AsSlice())
	binary.BigEndian.PutUint16(udp, from.Port())
	binary.BigEndian.PutUint16(udp[2:], to.Port())
	binary.BigEndian.PutUint16(udp[4:], 8)
	sum := uint32(0)
	for i := 0; i < len(m); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(m[i:]))
	}
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(m[2:], ^uint16(sum+sum>>16))
	return m
}
