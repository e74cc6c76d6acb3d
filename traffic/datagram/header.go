package datagram

import (
	"encoding/binary"
	"math/bits"
)

// The own header, in network byte order. The check is over all other fields and
// the session's secret key, so a stranger's datagram passes once in 2^32.
//
//	long    0 magic "wtdg"   4 check u32   8 session u64   16 flow u32   20 mark u8, 3 zero
//	       24 seq u64   32 intended ns i64   40 sent ns i64
//	short   0 check u32   4 mark in 2 bits, flow in 14   6 seq u32   10 sent u32   14 lag u32
//
// The short form is for datagrams below 48 bytes: 18 bytes are the payload of a
// 64-byte Ethernet frame. Its times are in units of 256 ns (the sent time wraps
// after 18 minutes) and its numbers wrap: the receiver unwraps them.
const (
	magic     = 0x77746467
	longSize  = 48
	shortSize = 18
	shortTick = 8 // bits: 256 ns
	markBits  = 2
	flowBits  = 16 - markBits
)

// Odd constants mix the fields into the check (fractional parts of the golden
// ratio and of square roots of primes, as in FIPS 180-4, section 4.2.2).
const (
	mix1 = 0x9e3779b97f4a7c15
	mix2 = 0x6a09e667f3bcc909
	mix3 = 0xbb67ae8584caa73b
	mix4 = 0x3c6ef372fe94f82b
	mix5 = 0xa54ff53a5f1d36f1
)

// key is a session's secret, agreed on over the control connection.
type key struct{ session, secret uint64 }

// longHeader is the Codec of datagrams of 48 bytes and more.
type longHeader struct{ key key }

// shortHeader is the Codec of datagrams of 18 to 47 bytes.
type shortHeader struct{ key key }

var (
	_ Codec = longHeader{}
	_ Codec = shortHeader{}
)

// headerFor is the header that fits into a message.
func headerFor(message int, k key) Codec {
	if message < longSize {
		return shortHeader{k}
	}
	return longHeader{k}
}

// fold makes a check of a sum of products, all of whose bits count.
//
//go:nosplit
func fold(h uint64) uint32 {
	high, low := bits.Mul64(h^h>>29, mix1)
	return uint32(high>>32) ^ uint32(low>>32)
}

func (longHeader) Size() int { return longSize }

//go:nosplit
func (h longHeader) check(b *[longSize]byte) uint32 { return fold(h.sum(b)) }

//go:nosplit
func (h longHeader) sum(b *[longSize]byte) uint64 {
	return binary.BigEndian.Uint64(b[8:])*mix1 + binary.BigEndian.Uint64(b[16:])*mix2 + binary.BigEndian.Uint64(b[24:])*mix3 +
		binary.BigEndian.Uint64(b[32:])*mix4 + binary.BigEndian.Uint64(b[40:])*mix5 + h.key.secret
}

// Put writes a header.
//
//go:nosplit
func (h longHeader) Put(to []byte, s Stamp) {
	b := (*[longSize]byte)(to)
	binary.BigEndian.PutUint64(b[8:], h.key.session)
	binary.BigEndian.PutUint64(b[16:], uint64(s.Flow)<<32|uint64(s.Mark)<<24)
	binary.BigEndian.PutUint64(b[24:], s.Seq)
	binary.BigEndian.PutUint64(b[32:], uint64(s.Intended))
	binary.BigEndian.PutUint64(b[40:], uint64(s.Sent))
	binary.BigEndian.PutUint64(b[0:], magic<<32|uint64(h.check(b)))
}

// Get reads a header.
//
//go:nosplit
func (h longHeader) Get(from []byte) (s Stamp, ok bool) {
	if len(from) < longSize {
		return s, false
	}
	b := (*[longSize]byte)(from)
	if binary.BigEndian.Uint64(b[0:]) != magic<<32|uint64(h.check(b)) || binary.BigEndian.Uint64(b[8:]) != h.key.session {
		return s, false
	}
	who := binary.BigEndian.Uint64(b[16:])
	return Stamp{
		Flow: uint32(who >> 32), Mark: uint8(who >> 24), Seq: binary.BigEndian.Uint64(b[24:]),
		Intended: int64(binary.BigEndian.Uint64(b[32:])), Sent: int64(binary.BigEndian.Uint64(b[40:])),
	}, who&0xffffff == 0
}

func (shortHeader) Size() int { return shortSize }

//go:nosplit
func (h shortHeader) check(b *[shortSize]byte) uint32 { return fold(h.sum(b)) }

//go:nosplit
func (h shortHeader) sum(b *[shortSize]byte) uint64 {
	return binary.BigEndian.Uint64(b[4:])*mix1 + binary.BigEndian.Uint64(b[10:])*mix2 + h.key.secret
}

// Put writes a header; it keeps what fits of the number and the times.
//
//go:nosplit
func (h shortHeader) Put(to []byte, s Stamp) {
	b := (*[shortSize]byte)(to)
	binary.BigEndian.PutUint16(b[4:], uint16(s.Mark)<<flowBits|uint16(s.Flow))
	binary.BigEndian.PutUint32(b[6:], uint32(s.Seq))
	binary.BigEndian.PutUint32(b[10:], uint32(s.Sent>>shortTick))
	binary.BigEndian.PutUint32(b[14:], uint32((s.Sent-s.Intended)>>shortTick))
	binary.BigEndian.PutUint32(b[0:], h.check(b))
}

// Get reads a header as it stands: the number and the times still wrap.
//
//go:nosplit
func (h shortHeader) Get(from []byte) (s Stamp, ok bool) {
	if len(from) < shortSize {
		return s, false
	}
	b := (*[shortSize]byte)(from)
	if binary.BigEndian.Uint32(b[0:]) != h.check(b) {
		return s, false
	}
	who, sent := binary.BigEndian.Uint16(b[4:]), int64(binary.BigEndian.Uint32(b[10:]))<<shortTick
	return Stamp{
		Flow: uint32(who & (1<<flowBits - 1)), Mark: uint8(who >> flowBits), Seq: uint64(binary.BigEndian.Uint32(b[6:])),
		Sent: sent, Intended: sent - int64(binary.BigEndian.Uint32(b[14:]))<<shortTick,
	}, true
}

// unwrap is the number next to near whose low 32 bits are these.
//
//go:nosplit
func unwrap(near uint64, low uint32) uint64 {
	n := near + uint64(int64(int32(low-uint32(near))))
	if int64(n) < 0 && int64(near) >= 0 {
		return uint64(low) // nothing lies before the first number
	}
	return n
}
