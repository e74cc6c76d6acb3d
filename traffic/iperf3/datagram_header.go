package iperf3

import (
	"encoding/binary"

	"windtunnel/traffic/datagram"
)

// header is what stands before the payload of a UDP datagram, in network byte
// order: seconds and microseconds of the sender's clock, and the sequence number
// from 1, in 32 or 64 bits.
type header struct{ wide bool }

var _ datagram.Codec = header{}

const (
	narrowHeader = 12
	wideHeader   = 16
	second       = 1_000_000_000 // ns
)

// Size is 12 or 16 bytes.
func (h header) Size() int {
	if h.wide {
		return wideHeader
	}
	return narrowHeader
}

// Put writes the header of one datagram.
func (h header) Put(b []byte, s datagram.Stamp) {
	_ = b[narrowHeader-1]
	binary.BigEndian.PutUint32(b, uint32(s.Sent/second))
	binary.BigEndian.PutUint32(b[4:], uint32(s.Sent%second/1000))
	if h.wide {
		binary.BigEndian.PutUint64(b[8:], s.Seq)
	} else {
		binary.BigEndian.PutUint32(b[8:], uint32(s.Seq))
	}
}

// Get reads it; false is a datagram that is too short, has the number 0, or a
// time that no clock shows.
func (h header) Get(b []byte) (s datagram.Stamp, ok bool) {
	if len(b) < h.Size() {
		return s, false
	}
	seconds, micros := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if h.wide {
		s.Seq = binary.BigEndian.Uint64(b[8:])
	} else {
		s.Seq = uint64(binary.BigEndian.Uint32(b[8:]))
	}
	s.Sent = int64(seconds)*second + int64(micros)*1000
	return s, s.Seq != 0 && micros < 1_000_000
}
