package datagram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The handshake goes over TCP, in network byte order. The sender says hello, the
// receiver answers with the UDP ports of its threads, the sender sends an opening
// datagram on each flow, again and again, until the receiver says that all are
// in. After the run, who sent tells what, and who received says that it is done,
// or every few seconds that it still counts.
//
//	hello   0 magic "wtdgrams"  8 version  10 direction  12 flows u32  16 message u32  20 session u64  28 secret u64
//	answer  0 magic "wtdgrams"  8 version  10 status  12 number of ports  then a u16 each
//	note    0 what u8  1 length u32  then as many bytes
const (
	controlMagic = "wtdgrams"
	version      = 1
	helloSize    = 36
	answerSize   = 14
	noteSize     = 5
	maxNote      = maxFlows * marks * 8
)

// The statuses of an answer.
const (
	welcome      uint16 = 0
	otherVersion uint16 = 1
	otherLoad    uint16 = 2
	otherSession uint16 = 3
	noSockets    uint16 = 4
	noFiles      uint16 = 5
)

var statusSays = map[uint16]string{
	otherVersion: "the receiver speaks another version of the handshake",
	otherLoad:    "the receiver expects another number of flows, message or direction",
	otherSession: "the receiver already serves another sender",
	noSockets:    "the receiver could not open its UDP sockets",
	noFiles:      "the receiver may open no more files: raise its limit (ulimit -n)",
}

// The notes.
const (
	noteReady  = 1 // every flow's opening datagram has come
	noteTotals = 2 // what was sent: by flow and mark, u64 each
	noteDone   = 3 // what came is counted
	noteCounts = 4 // of a test by hand: more than had been waited for still comes
)

// errForeign is a connection of somebody who is no sender of ours.
var errForeign = errors.New("not a Windtunnel datagram sender")

var directions = []string{forward, reverse, both}

// hello introduces a sender and its load.
type hello struct {
	version   uint16
	direction uint16 // place in directions
	flows     uint32
	message   uint32
	key       key
}

func helloOf(l load, k key) hello {
	h := hello{version: version, flows: uint32(l.flows), message: uint32(l.message), key: k}
	for i, d := range directions {
		if d == l.direction {
			h.direction = uint16(i)
		}
	}
	return h
}

func (h hello) encode() [helloSize]byte {
	var b [helloSize]byte
	copy(b[:], controlMagic)
	binary.BigEndian.PutUint16(b[8:], h.version)
	binary.BigEndian.PutUint16(b[10:], h.direction)
	binary.BigEndian.PutUint32(b[12:], h.flows)
	binary.BigEndian.PutUint32(b[16:], h.message)
	binary.BigEndian.PutUint64(b[20:], h.key.session)
	binary.BigEndian.PutUint64(b[28:], h.key.secret)
	return b
}

func decodeHello(b []byte) (hello, error) {
	if len(b) != helloSize || string(b[:8]) != controlMagic {
		return hello{}, errForeign
	}
	return hello{
		version: binary.BigEndian.Uint16(b[8:]), direction: binary.BigEndian.Uint16(b[10:]),
		flows: binary.BigEndian.Uint32(b[12:]), message: binary.BigEndian.Uint32(b[16:]),
		key: key{binary.BigEndian.Uint64(b[20:]), binary.BigEndian.Uint64(b[28:])},
	}, nil
}

// judge is the status that a receiver with this load answers.
func (h hello) judge(l load) uint16 {
	switch {
	case h.version != version:
		return otherVersion
	case h != helloOf(l, h.key):
		return otherLoad
	}
	return welcome
}

func encodeAnswer(status uint16, ports []uint16) []byte {
	b := make([]byte, answerSize, answerSize+2*len(ports))
	copy(b, controlMagic)
	binary.BigEndian.PutUint16(b[8:], version)
	binary.BigEndian.PutUint16(b[10:], status)
	binary.BigEndian.PutUint16(b[12:], uint16(len(ports)))
	for _, p := range ports {
		b = binary.BigEndian.AppendUint16(b, p)
	}
	return b
}

// readAnswer returns the receiver's ports, one a thread and at most one a flow.
func readAnswer(r io.Reader, flows int) ([]uint16, error) {
	var b [answerSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return nil, fmt.Errorf("waiting for the receiver's answer: %w", err)
	}
	if string(b[:8]) != controlMagic {
		return nil, errors.New("the peer is no Windtunnel datagram receiver")
	}
	if status := binary.BigEndian.Uint16(b[10:]); status != welcome {
		if says, ok := statusSays[status]; ok {
			return nil, errors.New(says)
		}
		return nil, fmt.Errorf("the receiver refused the load with status %d", status)
	}
	n := int(binary.BigEndian.Uint16(b[12:]))
	if n < 1 || n > flows {
		return nil, fmt.Errorf("the receiver offers %d ports for %d flows", n, flows)
	}
	list := make([]byte, 2*n)
	if _, err := io.ReadFull(r, list); err != nil {
		return nil, fmt.Errorf("reading the receiver's ports: %w", err)
	}
	ports := make([]uint16, n)
	for i := range ports {
		if ports[i] = binary.BigEndian.Uint16(list[2*i:]); ports[i] == 0 {
			return nil, errors.New("the receiver offers port 0")
		}
	}
	return ports, nil
}

// note is a message of the control connection after the handshake.
type note struct {
	what byte
	body []byte
}

func (n note) encode() []byte {
	b := binary.BigEndian.AppendUint32([]byte{n.what}, uint32(len(n.body)))
	return append(b, n.body...)
}

func readNote(r io.Reader) (note, error) {
	var b [noteSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return note{}, err
	}
	n := note{what: b[0]}
	size := binary.BigEndian.Uint32(b[1:])
	if size > maxNote {
		return note{}, fmt.Errorf("the peer sent a note of %d bytes, at most %d are taken", size, maxNote)
	}
	n.body = make([]byte, size)
	_, err := io.ReadFull(r, n.body)
	return n, err
}

// totals is how many datagrams of each flow were sent under each mark.
type totals [][marks]uint64

func (t totals) encode() []byte {
	b := make([]byte, 0, len(t)*marks*8)
	for _, flow := range t {
		for _, n := range flow {
			b = binary.BigEndian.AppendUint64(b, n)
		}
	}
	return b
}

func decodeTotals(b []byte, flows int) (totals, error) {
	if len(b) != flows*marks*8 {
		return nil, fmt.Errorf("the peer's totals have %d bytes, not %d for %d flows", len(b), flows*marks*8, flows)
	}
	t := make(totals, flows)
	for i := range t {
		for m := range marks {
			t[i][m] = binary.BigEndian.Uint64(b[(i*marks+m)*8:])
		}
	}
	return t, nil
}

// sum is over all flows, by mark.
func (t totals) sum() (all [marks]uint64) {
	for _, flow := range t {
		for m, n := range flow {
			all[m] += n
		}
	}
	return all
}
