package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The control connection, TCP on the session's first port, in network order. The
// sender says hello, the receiver answers with the session's number. Then the
// sender may ask for the probe's count, tells at intervals how many frames its device
// has refused, which have numbers and yet are not lost, and whether it will refuse none
// any more, and in the end what it has sent, which the receiver repeats. Where both are kept for another trial, the sender then asks for that
// one's session, and is answered as its hello was.
//
//	hello   0 magic "wtframes"  8 version  10 family (4, 6)  11 vary (0 ports, 1 addresses)  12 size, or which mix  16 flows
//	answer  0 magic "wtframes"  8 version  10 status  12 session
//	message 0 kind  8 two numbers of 8 bytes
const (
	controlMagic     = "wtframes"
	controlVersion   = 1
	helloSize        = 20
	answerSize       = 16
	numbersInMessage = 2
	messageSize      = 8 + 8*numbersInMessage
)

// The statuses of an answer.
const (
	welcome uint16 = iota
	otherVersion
	otherSize
	otherFlows
	otherFamily
	taken
	noFiles
)

var statusSays = map[uint16]string{
	otherVersion: "the receiver speaks another version of the handshake",
	otherSize:    "the receiver expects frames of another size",
	otherFlows:   "the receiver expects other flows (flows, vary)",
	otherFamily:  "the receiver has an address of the other family",
	taken:        "the receiver already serves another sender",
	noFiles:      "the receiver may open no more files: raise its limit (ulimit -n)",
}

// errForeignHello is a connection of somebody who is no sender of ours.
var errForeignHello = errors.New("not a Windtunnel sender of frames")

type hello struct {
	version   uint16
	family    uint8
	addresses bool
	size      uint32
	flows     uint32
}

func (h hello) encode() []byte {
	b := make([]byte, helloSize)
	copy(b, controlMagic)
	binary.BigEndian.PutUint16(b[8:], h.version)
	b[10] = h.family
	if h.addresses {
		b[11] = 1
	}
	binary.BigEndian.PutUint32(b[12:], h.size)
	binary.BigEndian.PutUint32(b[16:], h.flows)
	return b
}

func decodeHello(b []byte) (hello, error) {
	if len(b) != helloSize || string(b[:8]) != controlMagic {
		return hello{}, errForeignHello
	}
	return hello{
		version: binary.BigEndian.Uint16(b[8:]), family: b[10], addresses: b[11] == 1,
		size: binary.BigEndian.Uint32(b[12:]), flows: binary.BigEndian.Uint32(b[16:]),
	}, nil
}

// judge is the status with which a receiver that expects want answers.
func (h hello) judge(want hello) uint16 {
	switch {
	case h.version != want.version:
		return otherVersion
	case h.family != want.family:
		return otherFamily
	case h.size != want.size:
		return otherSize
	case h.flows != want.flows || h.addresses != want.addresses:
		return otherFlows
	}
	return welcome
}

func encodeAnswer(status uint16, session uint32) []byte {
	b := make([]byte, answerSize)
	copy(b, controlMagic)
	binary.BigEndian.PutUint16(b[8:], controlVersion)
	binary.BigEndian.PutUint16(b[10:], status)
	binary.BigEndian.PutUint32(b[12:], session)
	return b
}

// decodeAnswer returns the session of a welcome.
func decodeAnswer(b []byte) (session uint32, err error) {
	if len(b) != answerSize || string(b[:8]) != controlMagic {
		return 0, errors.New("the peer is no Windtunnel receiver of frames")
	}
	status := binary.BigEndian.Uint16(b[10:])
	if status == welcome {
		return binary.BigEndian.Uint32(b[12:]), nil
	}
	if says, ok := statusSays[status]; ok {
		return 0, errors.New(says)
	}
	return 0, fmt.Errorf("the receiver refused with status %d", status)
}

// The kinds of a message. A count has the probe's frames that came in its first
// number, refused those that were refused so far, and 1 in its second if that is all; the final has what was sent; who asks again has none.
const (
	askCount uint64 = iota + 1
	tellCount
	tellRefused
	tellFinal
	askAgain
)

// message is what is said after the handshake.
type message struct {
	kind    uint64
	numbers [numbersInMessage]uint64
}

func (m message) encode() []byte {
	b := make([]byte, 0, messageSize)
	b = binary.BigEndian.AppendUint64(b, m.kind)
	for _, n := range m.numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func decodeMessage(b []byte) (message, error) {
	if len(b) != messageSize {
		return message{}, fmt.Errorf("a message of %d bytes, not %d", len(b), messageSize)
	}
	m := message{kind: binary.BigEndian.Uint64(b)}
	if m.kind < askCount || m.kind > askAgain {
		return message{}, fmt.Errorf("a message of kind %d, which nobody knows", m.kind)
	}
	for i := range m.numbers {
		m.numbers[i] = binary.BigEndian.Uint64(b[8+8*i:])
	}
	return m, nil
}

// final is what a sender sent in the window.
type final struct {
	sent     uint64 // and its device did not refuse
	windowNS uint64
}

func (f final) message() message {
	return message{kind: tellFinal, numbers: [numbersInMessage]uint64{f.sent, f.windowNS}}
}

// What a sender may claim: a day, by a clock that is read a little later than the day is over, and what no wire carries in one.
const (
	longestWindow = 25 * 3600 * 1e9
	mostFrames    = 1 << 50
)

func (m message) final() (final, error) {
	f := final{sent: m.numbers[0], windowNS: m.numbers[1]}
	if m.kind != tellFinal || f.sent > mostFrames || f.windowNS == 0 || f.windowNS > longestWindow {
		return final{}, fmt.Errorf("the sender tells what cannot be: %d frames in %d ns", f.sent, f.windowNS)
	}
	return f, nil
}
