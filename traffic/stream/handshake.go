package stream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"windtunnel/traffic/lobby"
)

// The handshake, in network byte order, before the payload of each connection:
// the sender writes a hello, and the receiver answers it once every connection
// of the session has said hello, so an answered sender knows that all are in.
//
//	hello   0 magic "wtstream"  8 version  10 direction  12 index  16 total  20 token (16 bytes)
//	answer  0 magic "wtstream"  8 version  10 status
const (
	magic      = "wtstream"
	version    = 2
	helloSize  = 36
	answerSize = 12
)

// The statuses of an answer.
const (
	welcome      uint16 = 0
	otherVersion uint16 = 1
	otherCount   uint16 = 2
	otherSession uint16 = 3
	otherWay     uint16 = 4
	noFiles      uint16 = 5
)

var statusSays = map[uint16]string{
	otherVersion: "the receiver speaks another version of the handshake",
	otherCount:   "the receiver expects another number of streams",
	otherSession: "the receiver already serves another sender",
	otherWay:     "the receiver expects traffic in another direction",
	noFiles:      "the receiver may open no more files, and needs one for each connection: use fewer, or raise its limit (ulimit -n)",
}

// errForeign is a connection of somebody who is no sender of ours; it is closed
// without an answer.
var errForeign = errors.New("not a Windtunnel stream")

// token names a session: the connections of one sender.
type token = lobby.Token

// The directions of a session, as a hello says them: what flows from whom
// connects is forward. With both, the first half of the connections is forward.
const (
	forward uint16 = 0
	reverse uint16 = 1
	both    uint16 = 2
)

// hello introduces one connection: the Index-th of Total of a session.
type hello struct {
	Version   uint16
	Direction uint16
	Index     uint32
	Total     uint32
	Token     token
}

func (h hello) encode() [helloSize]byte {
	var b [helloSize]byte
	copy(b[:], magic)
	binary.BigEndian.PutUint16(b[8:], h.Version)
	binary.BigEndian.PutUint16(b[10:], h.Direction)
	binary.BigEndian.PutUint32(b[12:], h.Index)
	binary.BigEndian.PutUint32(b[16:], h.Total)
	copy(b[20:], h.Token[:])
	return b
}

func decodeHello(b []byte) (hello, error) {
	if len(b) != helloSize || string(b[:8]) != magic {
		return hello{}, errForeign
	}
	h := hello{
		Version:   binary.BigEndian.Uint16(b[8:]),
		Direction: binary.BigEndian.Uint16(b[10:]),
		Index:     binary.BigEndian.Uint32(b[12:]),
		Total:     binary.BigEndian.Uint32(b[16:]),
		Token:     token(b[20:]),
	}
	if h.Version == version && (h.Index >= h.Total || h.Total > 2*maxStreams) {
		return hello{}, errForeign
	}
	return h, nil
}

func encodeAnswer(status uint16) [answerSize]byte {
	var b [answerSize]byte
	copy(b[:], magic)
	binary.BigEndian.PutUint16(b[8:], version)
	binary.BigEndian.PutUint16(b[10:], status)
	return b
}

// decodeAnswer returns nil for a welcome.
func decodeAnswer(b []byte) error {
	if len(b) != answerSize || string(b[:8]) != magic {
		return errors.New("the peer is no Windtunnel receiver")
	}
	status := binary.BigEndian.Uint16(b[10:])
	if status == welcome {
		return nil
	}
	if says, ok := statusSays[status]; ok {
		return errors.New(says)
	}
	return fmt.Errorf("the receiver refused the stream with status %d", status)
}
