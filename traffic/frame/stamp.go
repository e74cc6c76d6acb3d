package frame

import (
	"encoding/binary"
)

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

// shape is a size's template, and its sums.
type shape struct {
	template []byte
	udp, ip  uint32
}

// stamp makes a buffer that newStamp gave, or a copy of it, the frame of a number.
type stamp struct {
	header
	shapes []shape // by turn
}

// newStamp also returns a buffer for frames of any size of the header's, and what they wear.
func newStamp(h header) (stamp, []byte) {
	s := stamp{header: h}
	for _, size := range h.sizes {
		template := h.template(size)
		udp, ip := h.sums(template)
		s.shapes = append(s.shapes, shape{template, udp, ip})
	}
	b := make([]byte, h.outer.shift()+h.sizes.largest()-fcsSize)
	copy(b[h.outer.shift():], s.shapes[0].template)
	return s, b
}

// write does what frame_send.bpf.c does, and returns the frame's length.
func (s *stamp) write(b []byte, n number) int {
	of := &s.shapes[s.sizes.turn(n)]
	s.inner(b[s.outer.shift():], of, n)
	if s.outer != nil { // over what an inner packet has before its IP header
		s.outer.write(b, len(of.template)-ethernetSize, n.flow)
	}
	return s.outer.shift() + len(of.template)
}

// inner writes a frame that wears nothing.
func (s *stamp) inner(b []byte, of *shape, n number) {
	if len(s.shapes) > 1 {
		copy(b, of.template[:s.headEnd()])
	}
	flowBits, source := uint32(portBits), n.flow&(1<<portBits-1)
	udpSum := of.udp
	if s.addresses {
		address := n.flow
		if !s.ipv6() {
			flowBits = addressBits
			low := n.flow & (1<<addressBits - 1)
			four := benchmarkIPv4.As4()
			address = binary.BigEndian.Uint32(four[:]) + low
			binary.BigEndian.PutUint32(b[26:], address)
			binary.BigEndian.PutUint16(b[24:], ^fold(of.ip+words(address)))
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

// left is what a number tells of when its frame left, at a time in ns; 0 would be nothing.
//
//go:nosplit
func left(now int64) uint64 { return max(1, uint64(now)>>leftUnit&leftMask) }

// later is by how many units more than before a frame was on its way that left then, as
// frame_later in frame_wire.h does it.
//
//go:nosplit
func later(left uint64, now, before int64) int64 {
	return int64((uint64(now)>>leftUnit-left-uint64(before))<<leftShift) >> leftShift
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
