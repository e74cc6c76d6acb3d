package offload

import (
	"math/bits"

	"windtunnel/vrouter/core"
)

// hasPorts tells of which protocols the core reads the ports.
func hasPorts(protocol uint8) bool {
	return protocol == core.ProtocolTCP || protocol == core.ProtocolUDP
}

func fold(a core.Addr) uint32 {
	mixed := a.Hi ^ a.Lo*0x9e3779b97f4a7c15
	return uint32(mixed) ^ uint32(mixed>>32)
}

// hash is vr_flow_hash of vr_nexthop.h, of a packet that is no fragment; a test compares them. It chooses
// among several ways, and makes the source port.
func (f Flow) hash(seed uint32) uint32 {
	a := fold(core.AddrOf(f.Source))
	b := fold(core.AddrOf(f.Destination)) + uint32(f.Protocol)<<8 + seed
	var c uint32
	if hasPorts(f.Protocol) {
		c = uint32(f.From)<<16 | uint32(f.To)
	}
	step := func(to *uint32, from uint32, by int) { *to = (*to ^ from) - bits.RotateLeft32(from, by) }
	step(&c, b, 14)
	step(&a, c, 11)
	step(&b, a, 25)
	step(&c, b, 16)
	step(&a, c, 4)
	step(&b, a, 14)
	step(&c, b, 24)
	return c
}

// entropyPort is vr_entropy_port: the outer UDP source port, and the flow label over IPv6.
func entropyPort(hash uint32) uint16 { return uint16(0xc000 | hash&0x3fff) }

// bucket is vr_bucket: the flow's in a group of ways.
func bucket(hash uint32) uint32 { return hash >> (32 - 10) }
