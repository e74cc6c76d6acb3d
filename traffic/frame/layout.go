package frame

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
)

// A frame as it is sent (frame_wire.h has the same numbers):
//
//	Ethernet II, 14 bytes, without a VLAN tag
//	IPv4 without options (RFC 791) or IPv6 without extensions (RFC 8200)
//	UDP (RFC 768), its checksum always there
//	0 magic 'W'  1 phase  2 session  6 flow  10 sequence (8 bytes, the first three of which are when
//	the frame left, or 0: stamp.go); in network order
//	zeros up to the size; FCS, which the device adds
const (
	ethernetSize  = 14
	ipv4Size      = 20
	ipv6Size      = 40
	udpSize       = 8
	numberingSize = 18
	fcsSize       = 4
	wireExtra     = 20 // preamble 7, start delimiter 1, gap 12 (IEEE 802.3, clause 4)

	// smallestIPv4 is Ethernet's smallest frame, which the number just fits into.
	smallestIPv4 = ethernetSize + ipv4Size + udpSize + numberingSize + fcsSize
	smallestIPv6 = smallestIPv4 + ipv6Size - ipv4Size
	largestFrame = 65535

	magic = 'W'

	// mostSequence is the highest; above its bits is when the frame left, or nothing (frame_wire.h).
	mostSequence = 1<<leftShift - 1
	leftShift    = 40
	leftUnit     = 6 // a bit of it is 64 ns
	leftMask     = 1<<24 - 1
)

// A phase says in which part of a trial a frame was sent.
const (
	warmUp = iota
	window
	after
	probing // before a trial; its frames are only counted
	phases
)

// What of a flow's number goes where: its low bits into the source port or the
// source address, the rest into the destination port. See frame_wire.h.
const (
	sourcePort  = 0x8000
	portBits    = 15
	addressBits = 17
)

var (
	benchmarkIPv4 = netip.MustParseAddr("198.18.0.0") // /15, RFC 2544, appendix C.2.2
	benchmarkIPv6 = netip.MustParseAddr("2001:2::")   // /48, RFC 5180, section 8
)

// number tells one frame from all others of its session.
type number struct {
	phase    uint8
	flow     uint32
	sequence uint64 // in its flow, from 0
}

// header is what the frames of a session have in common.
type header struct {
	source, destination [6]byte // Ethernet addresses
	from, to            netip.Addr
	port                uint16 // UDP destination: the session's first
	session             uint32
	sizes               mix
	addresses           bool
	outer               *outer        // nil: frames wear nothing
	stamped             bool          // frames tell when they left, if there is a rate
	apart               time.Duration // of those that do, at least
}

// fits refuses sizes that the headers, or the device's MTU, do not take.
func fits(sizes mix, ipv6 bool, mtu int) error {
	smallest := smallestIPv4
	if ipv6 {
		smallest = smallestIPv6
	}
	if size := sizes.smallest(); size < smallest {
		return fmt.Errorf("a frame of %d bytes has no room for the headers of IPv6 and the frame's number: set size to at least %d", size, smallest)
	}
	if size, largest := sizes.largest(), mtu+ethernetSize+fcsSize; size > largest {
		return fmt.Errorf("a frame of %d bytes does not fit an MTU of %d: set size to at most %d", size, mtu, largest)
	}
	return nil
}

// portsUsed is how many destination ports so many flows take.
func portsUsed(l load, ipv6 bool) int {
	bits := portBits
	if l.addresses {
		bits = addressBits
		if ipv6 {
			return 1
		}
	}
	return int(l.flows-1)>>bits + 1
}

func (h header) ipv6() bool { return h.to.Is6() }

// udpAt is the offset of the UDP header in a frame that wears nothing.
func (h header) udpAt() int {
	if h.ipv6() {
		return ethernetSize + ipv6Size
	}
	return ethernetSize + ipv4Size
}

// template is a frame of a size, without FCS, in which everything that differs from frame to
// frame is zero: ports, the low bits of a varied address, its checksums, the number. It wears nothing.
func (h header) template(size int) []byte {
	b := make([]byte, size-fcsSize)
	copy(b, h.destination[:])
	copy(b[6:], h.source[:])
	from := h.from
	if h.ipv6() {
		if h.addresses {
			from = benchmarkIPv6
		}
		h.writeIPv6(b[ethernetSize:], from)
		binary.BigEndian.PutUint16(b[12:], 0x86dd)
	} else {
		if h.addresses {
			from = netip.IPv4Unspecified() // all of it is written for each frame
		}
		h.writeIPv4(b[ethernetSize:h.udpAt()], len(b)-ethernetSize, from)
		binary.BigEndian.PutUint16(b[12:], 0x0800)
	}
	udp := b[h.udpAt():]
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	udp[udpSize] = magic
	binary.BigEndian.PutUint32(udp[udpSize+2:], h.session)
	return b
}

// headEnd is where the number ends, and the zeros begin.
func (h header) headEnd() int { return h.udpAt() + udpSize + numberingSize }

const hops = 64

// writeIPv4 leaves the header's checksum out if the address will change it.
func (h header) writeIPv4(b []byte, length int, from netip.Addr) {
	b[0] = 0x45
	binary.BigEndian.PutUint16(b[2:], uint16(length))
	b[6] = 0x40 // do not fragment
	b[8], b[9] = hops, 17
	copy(b[12:16], from.AsSlice())
	copy(b[16:20], h.to.AsSlice())
	if !h.addresses {
		binary.BigEndian.PutUint16(b[10:], ^fold(sum(b)))
	}
}

func (h header) writeIPv6(b []byte, from netip.Addr) {
	b[0] = 0x60
	binary.BigEndian.PutUint16(b[4:], uint16(len(b)-ipv6Size))
	b[6], b[7] = 17, hops
	copy(b[8:24], from.AsSlice())
	copy(b[24:40], h.to.AsSlice())
}
