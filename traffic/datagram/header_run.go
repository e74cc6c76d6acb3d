package datagram

import "encoding/binary"

// Datagrams that leave in one call differ in their numbers alone, and those of an aggregate mostly do. Their checks
// then follow from one another: a number more adds the same product to the sum that a check is folded from.

// shortStep is what the next number adds to a short header's sum, and shortWrap what it takes away again where the
// number begins anew at 0 instead of carrying into the flow's.
const (
	shortStep = mix1 << 16 & (1<<64 - 1)
	shortWrap = mix1 << 48 & (1<<64 - 1)
)

// putRun writes the headers of n datagrams, stride bytes apart, with successive numbers from the stamp's on.
//
//go:nosplit
func (h longHeader) putRun(to []byte, stride, n int, s Stamp) {
	h.Put(to, s)
	first := *(*[longSize]byte)(to) // a copy: of what might overlap, each assignment below would be a call
	sum := h.sum(&first)
	for i := 1; i < n; i++ {
		b := (*[longSize]byte)(to[i*stride:])
		*b = first
		sum += mix3
		binary.BigEndian.PutUint64(b[24:], s.Seq+uint64(i))
		binary.BigEndian.PutUint64(b[0:], magic<<32|uint64(fold(sum)))
	}
}

// runBehind counts the datagrams behind the first, intact one whose headers are what putRun would have written there.
//
//go:nosplit
func (h longHeader) runBehind(from []byte, stride int) (n int) {
	first := (*[longSize]byte)(from)
	sum, seq := h.sum(first), binary.BigEndian.Uint64(first[24:])
	for at := stride; at+stride <= len(from); at += stride {
		b := (*[longSize]byte)(from[at:])
		sum += mix3
		seq++
		if binary.BigEndian.Uint64(b[0:]) != magic<<32|uint64(fold(sum)) || binary.BigEndian.Uint64(b[24:]) != seq ||
			[16]byte(b[8:24]) != [16]byte(first[8:24]) || [16]byte(b[32:48]) != [16]byte(first[32:48]) {
			break
		}
		n++
	}
	return n
}

// putRun is as the long header's.
//
//go:nosplit
func (h shortHeader) putRun(to []byte, stride, n int, s Stamp) {
	h.Put(to, s)
	first := *(*[shortSize]byte)(to)
	sum, seq := h.sum(&first), uint32(s.Seq)
	for i := 1; i < n; i++ {
		b := (*[shortSize]byte)(to[i*stride:])
		*b = first
		seq++
		sum = nextSum(sum, seq)
		binary.BigEndian.PutUint32(b[6:], seq)
		binary.BigEndian.PutUint32(b[0:], fold(sum))
	}
}

// runBehind is as the long header's.
//
//go:nosplit
func (h shortHeader) runBehind(from []byte, stride int) (n int) {
	first := (*[shortSize]byte)(from)
	sum, seq := h.sum(first), binary.BigEndian.Uint32(first[6:])
	for at := stride; at+stride <= len(from); at += stride {
		b := (*[shortSize]byte)(from[at:])
		seq++
		sum = nextSum(sum, seq)
		if binary.BigEndian.Uint32(b[0:]) != fold(sum) || binary.BigEndian.Uint32(b[6:]) != seq ||
			[2]byte(b[4:6]) != [2]byte(first[4:6]) || [8]byte(b[10:18]) != [8]byte(first[10:18]) {
			break
		}
		n++
	}
	return n
}

// nextSum is a short header's sum with the number seq, of the one with the number before.
//
//go:nosplit
func nextSum(sum uint64, seq uint32) uint64 {
	sum += shortStep
	if seq == 0 {
		sum -= shortWrap
	}
	return sum
}
