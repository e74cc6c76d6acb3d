package frame

import (
	"encoding/binary"
	"errors"
)

// What parse says of a frame that does not count.
var (
	errForeign = errors.New("not a frame of this session")
	errCorrupt = errors.New("a frame of this session that is not as it was sent")
)

// expected is what a sink knows of its session's frames.
type expected struct {
	session uint32
	flows   uint32
	sizes   mix
	ipv6    bool
	outer   *outer // which parse does not know: only a port's frames wear something
	timed   bool   // the sender's clock is this machine's
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
	n := number{numbering[1], binary.BigEndian.Uint32(numbering[6:]), binary.BigEndian.Uint64(numbering[10:]) & mostSequence}
	size := e.sizes.of(n)
	if length < size-fcsSize || !e.whole(b, udp, size) || n.flow >= e.flows || n.phase >= phases {
		return n, errCorrupt
	}
	return n, nil
}

// together is how many frames came as one that is of the session and not whole: where GRO puts UDP together (udp_gro_complete in the
// kernel's net/ipv4/udp_offload.c), the headers' lengths say all of it. 1 of another.
func (e expected) together(b []byte, length int, first number) int {
	payload, behind := e.sizes.of(first)-smallestIPv4+numberingSize, length-smallestIPv4+fcsSize+numberingSize
	total := int(binary.BigEndian.Uint16(b[ethernetSize+2:]))
	if e.ipv6 {
		payload, behind = payload-ipv6Size+ipv4Size, behind-ipv6Size+ipv4Size
		total = int(binary.BigEndian.Uint16(b[ethernetSize+4:])) + ipv6Size
	}
	if total != length-ethernetSize || behind <= payload {
		return 1
	}
	return (behind + payload - 1) / payload
}

// leftOf is when a frame that parse found whole left, in units of its sender's clock, 0 if it does not tell.
func (e expected) leftOf(b []byte) uint64 {
	at := ethernetSize + ipv4Size
	if e.ipv6 {
		at = ethernetSize + ipv6Size
	}
	return binary.BigEndian.Uint64(b[at+udpSize+10:]) >> leftShift
}

// plain tells UDP in a packet without options, extensions or fragments.
func (e expected) plain(ip []byte) bool {
	if e.ipv6 {
		return ip[0]>>4 == 6 && ip[6] == 17
	}
	return ip[0] == 0x45 && ip[9] == 17 && binary.BigEndian.Uint16(ip[6:])&0x3fff == 0
}

// whole checks the lengths and the checksum, over all but the zeros behind the number.
func (e expected) whole(b, udp []byte, size int) bool {
	packet := size - fcsSize - ethernetSize
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
