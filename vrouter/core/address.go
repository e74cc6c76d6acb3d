package core

import (
	"encoding/binary"
	"net/netip"
)

// AddrOf gives an address the form of the records: IPv4 has the upper half of Hi. None is zero.
func AddrOf(a netip.Addr) Addr {
	if a.Is4() {
		b := a.As4()
		return Addr{Hi: uint64(binary.BigEndian.Uint32(b[:])) << 32}
	}
	b := a.As16()
	return Addr{Hi: binary.BigEndian.Uint64(b[:8]), Lo: binary.BigEndian.Uint64(b[8:])}
}

// IPv4 is the reverse of AddrOf for an IPv4 address.
func (a Addr) IPv4() netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(a.Hi>>32))
	return netip.AddrFrom4(b)
}

// IPv6 is the reverse of AddrOf for an IPv6 address.
func (a Addr) IPv6() netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], a.Hi)
	binary.BigEndian.PutUint64(b[8:], a.Lo)
	return netip.AddrFrom16(b)
}
