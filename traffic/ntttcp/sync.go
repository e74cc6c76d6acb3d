package ntttcp

import (
	"encoding/binary"
	"fmt"
	"io"
)

// What ntttcp-for-linux's ends say to each other (endpointsync.c): a sender asks
// with a letter or proposes a time, the receiver answers each with one integer.
const (
	askState  int32 = 'X' // how is the receiver?
	askRun    int32 = 'R' // connections stand, let us start; as an answer: go
	askLast   int32 = 'L' // the same, and nobody comes after me (-L)
	askEnd    int32 = 'E' // I end before the time agreed; as an answer: refused
	sayWait   int32 = 'W' // an unasked askRun will follow
	notBegun  int32 = 11
	running   int32 = 12
	finished  int32 = 13
	leastSaid       = notBegun - 1 // 10: unknown
)

// messageSize is of every message, a signed integer in network order.
const messageSize = 4

// readMessage takes exactly one message: a shorter read would take the rest of
// it for the next.
func readMessage(r io.Reader) (int32, error) {
	var b [messageSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	return decodeMessage(b), nil
}

func decodeMessage(b [messageSize]byte) int32 { return int32(binary.BigEndian.Uint32(b[:])) }

func encodeMessage(value int32) [messageSize]byte {
	var b [messageSize]byte
	binary.BigEndian.PutUint32(b[:], uint32(value))
	return b
}

func writeMessage(w io.Writer, value int32) error {
	b := encodeMessage(value)
	_, err := w.Write(b[:])
	return err
}

// spell shows a message as what it most likely is.
func spell(value int32) string {
	if value >= 'A' && value <= 'Z' {
		return fmt.Sprintf("%d (%q)", value, rune(value))
	}
	return fmt.Sprint(value)
}

// ClearTotal is the total time in seconds that a sender proposes for a wanted
// one. ntttcp-for-linux's receiver tells requests from times by the value alone,
// so 69, 76, 82 and 88 s are taken for E, L, R and X: they become a second longer.
func ClearTotal(seconds int) (total int, changed bool) {
	switch int32(seconds) {
	case askEnd, askLast, askRun, askState:
		return seconds + 1, true
	}
	return seconds, false
}
