package config

import (
	"math/bits"
	"net/netip"

	"windtunnel/vrouter/core"
)

// The route tables' addresses are core.Addr: 128 bits, the first bit the highest.

// mask6 has the bits of an IPv6 prefix set.
func mask6(p netip.Prefix) core.Addr {
	if !p.IsValid() {
		return core.Addr{}
	}
	return firstBits(core.Addr{Hi: ^uint64(0), Lo: ^uint64(0)}, p.Bits())
}

// prefixOf is the reverse, for the first so many bits of an address.
func prefixOf(a core.Addr, length int, v4 bool) netip.Prefix {
	if v4 {
		return netip.PrefixFrom(a.IPv4(), length)
	}
	return netip.PrefixFrom(a.IPv6(), length)
}

// firstBits is an address with all behind its first so many bits zero.
func firstBits(a core.Addr, length int) core.Addr {
	if length < 64 {
		return core.Addr{Hi: a.Hi &^ (^uint64(0) >> length)}
	}
	return core.Addr{Hi: a.Hi, Lo: a.Lo &^ (^uint64(0) >> (length - 64))}
}

// nextBits are the core.BlockBits bits behind the first so many.
func nextBits(a core.Addr, length int) int {
	half := a.Hi
	if length >= 64 {
		half = a.Lo
	}
	return int(half>>((60-length)&63)) & (core.BlockEntries - 1)
}

// withBits puts an entry's number behind the first so many bits of an address.
func withBits(a core.Addr, length, entry int) core.Addr {
	if length < 64 {
		a.Hi |= uint64(entry) << (60 - length)
	} else {
		a.Lo |= uint64(entry) << (124 - length)
	}
	return a
}

// sharedBits counts the first bits that two addresses have in common.
func sharedBits(a, b core.Addr) int {
	if a.Hi != b.Hi {
		return bits.LeadingZeros64(a.Hi ^ b.Hi)
	}
	return 64 + bits.LeadingZeros64(a.Lo^b.Lo)
}
