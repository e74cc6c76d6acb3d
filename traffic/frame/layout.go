package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// A frame as it is sent (frame_wire.h has the same numbers):
//
//	Ethernet II, 14 bytes, without a VLAN tag
//	IPv4 without options (RFC 791) or IPv6 without extensions (RFC 8200)
//	UDP (RFC 768), its checksum always there
//	0 magic 'W'  1 phase  2 session  6 flow  10 sequence (8 bytes); in network order
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
	size                int // with FCS
	addresses           bool
}

// fits refuses a size that the headers, or the device's MTU, do not take.
func fits(size int, ipv6 bool, mtu int) error {
	smallest := smallestIPv4
	if ipv6 {
		smallest = smallestIPv6
	}
	if size < smallest {
		return fmt.Errorf("a frame of %d bytes has no room for the headers of IPv6 and the frame's number: set size to at least %d", size, smallest)
	}
	if largest := mtu + ethernetSize + fcsSize; size > largest {
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

// udpAt is the offset of the UDP header.
func (h header) udpAt() int {
	if h.ipv6() {
		return ethernetSize + ipv6Size
	}
	return ethernetSize + ipv4Size
}

// template is a frame without FCS in which everything that differs from frame to
// frame is zero: ports, the low bits of a varied address, its checksums, the number.
func (h header) template() []byte {
	b := make([]byte, h.size-fcsSize)
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

// sums are those of the template's UDP and IPv4 words, to which the checksum of a
// frame adds what differs.
func (h header) sums(template []byte) (udp, ip uint32) {
	addresses := template[h.udpAt()-8 : h.udpAt()]
	if h.ipv6() {
		addresses = template[h.udpAt()-32 : h.udpAt()]
	} else {
		ip = sum(template[ethernetSize:h.udpAt()])
	}
	payload := template[h.udpAt():]
	return sum(addresses) + 17 + uint32(len(payload)) + sum(payload), ip
}

// stamp makes a template, or an earlier frame of it, the frame of a number.
type stamp struct {
	header
	udp, ip uint32 // sums
}

func newStamp(h header) (stamp, []byte) {
	template := h.template()
	udp, ip := h.sums(template)
	return stamp{h, udp, ip}, template
}

// write does what frame_send.bpf.c does.
func (s *stamp) write(b []byte, n number) {
	flowBits, source := uint32(portBits), n.flow&(1<<portBits-1)
	udpSum := s.udp
	if s.addresses {
		address := n.flow
		if !s.ipv6() {
			flowBits = addressBits
			low := n.flow & (1<<addressBits - 1)
			four := benchmarkIPv4.As4()
			address = binary.BigEndian.Uint32(four[:]) + low
			binary.BigEndian.PutUint32(b[26:], address)
			binary.BigEndian.PutUint16(b[24:], ^fold(s.ip+words(address)))
		} else {
			flowBits = 32
			binary.BigEndian.PutUint32(b[34:], address)
		}
		udpSum += words(address)
		source = 0
	}
	from, to := uint16(sourcePort+source), s.port+uint16(uint64(n.flow)>>flowBits)
	udp := b[s.udpAt():]
	binary.BigEndian.PutUint16(udp, from)
	binary.BigEndian.PutUint16(udp[2:], to)
	udp[udpSize+1] = n.phase
	binary.BigEndian.PutUint32(udp[udpSize+6:], n.flow)
	binary.BigEndian.PutUint64(udp[udpSize+10:], n.sequence)
	udpSum += uint32(from) + uint32(to) + uint32(n.phase) + words(n.flow) + words(uint32(n.sequence)) + words(uint32(n.sequence>>32))
	binary.BigEndian.PutUint16(udp[6:], checksum(udpSum))
}

// sum adds 16-bit words without folding (RFC 1071).
func sum(b []byte) uint32 {
	var s uint32
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func words(v uint32) uint32 { return v>>16 + v&0xffff }

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = words(s)
	}
	return uint16(s)
}

// checksum is UDP's: zero would say that there is none (RFC 768).
func checksum(s uint32) uint16 {
	if c := ^fold(s); c != 0 {
		return c
	}
	return 0xffff
}

// What parse says of a frame that does not count.
var (
	errForeign = errors.New("not a frame of this session")
	errCorrupt = errors.New("a frame of this session that is not as it was sent")
)

// expected is what a sink knows of its session's frames.
type expected struct {
	session uint32
	flows   uint32
	size    int
	ipv6    bool
}

// parse reads the begin of a frame that has so many bytes without FCS, as
// frame_sink.bpf.c does.
func (e expected) parse(b []byte, length int) (number, error) {
	at, kind := ethernetSize+ipv4Size, uint16(0x0800)
	if e.ipv6 {
		at, kind = ethernetSize+ipv6Size, 0x86dd
	}
	if len(b) < at+udpSize+numberingSize || binary.BigEndian.Uint16(b[12:]) != kind || !e.plain(b[ethernetSize:]) {
		return number{}, errForeign
	}
	udp := b[at:]
	numbering := udp[udpSize:]
	if numbering[0] != magic || binary.BigEndian.Uint32(numbering[2:]) != e.session {
		return number{}, errForeign
	}
	n := number{numbering[1], binary.BigEndian.Uint32(numbering[6:]), binary.BigEndian.Uint64(numbering[10:])}
	if length < e.size-fcsSize || !e.whole(b, udp) || n.flow >= e.flows || n.phase >= phases {
		return n, errCorrupt
	}
	return n, nil
}

// plain tells UDP in a packet without options, extensions or fragments.
func (e expected) plain(ip []byte) bool {
	if e.ipv6 {
		return ip[0]>>4 == 6 && ip[6] == 17
	}
	return ip[0] == 0x45 && ip[9] == 17 && binary.BigEndian.Uint16(ip[6:])&0x3fff == 0
}

// whole checks the lengths and the checksum, over all but the zeros behind the number.
func (e expected) whole(b, udp []byte) bool {
	packet := e.size - fcsSize - ethernetSize
	length, total, addresses := packet-ipv4Size, int(binary.BigEndian.Uint16(b[16:])), b[26:34]
	if e.ipv6 {
		length, total, addresses = packet-ipv6Size, int(binary.BigEndian.Uint16(b[18:]))+ipv6Size, b[22:54]
	}
	if total != packet || int(binary.BigEndian.Uint16(udp[4:])) != length {
		return false
	}
	if binary.BigEndian.Uint16(udp[6:]) == 0 {
		return !e.ipv6 // RFC 768: there is none; RFC 8200 allows that to nobody
	}
	return fold(sum(addresses)+17+uint32(length)+sum(udp[:udpSize+numberingSize])) == 0xffff
}
