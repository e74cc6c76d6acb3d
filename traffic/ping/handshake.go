package ping

import (
	"encoding/binary"
	"errors"
	"fmt"

	"windtunnel/traffic/lobby"
)

// The handshake, in network byte order, before the requests of each flow: the
// sender writes a hello, and the receiver answers it once every flow of the session
// has said hello, so an answered sender knows that all are in. The hello states the
// sizes of requests and responses: the receiver goes by them.
//
// Over UDP a hello is repeated until it is answered. Its first answer is a challenge,
// whose cookie the next hello returns: so the sender's address is its own, and
// nobody makes the receiver send responses to a stranger. A farewell ends a flow.
// A flow that has had no answer for a while says that it may have moved, as a translator of addresses
// may have given it another one. Whoever knows the session's token is answered by a challenge there, and
// has the flow by its cookie.
//
//	hello   0 magic "wt-ping\n"  8 version  10 purpose  12 index  16 total  20 message  24 response  28 token (16)  44 cookie (16)  60 mix
//	answer  0 magic "wt-ping\n"  8 version  10 status   12 index  16 cookie (16)
const (
	magic      = "wt-ping\n"
	version    = 2
	helloSize  = 62
	answerSize = 32
)

// magicBytes is the magic for loops that may not call for a comparison of strings.
var magicBytes = [8]byte([]byte(magic))

// The purposes of a hello.
const (
	greets   uint16 = 0
	farewell uint16 = 1
	moves    uint16 = 2 // UDP
)

// The statuses of an answer.
const (
	welcome      uint16 = 0
	otherVersion uint16 = 1
	otherSession uint16 = 2
	challenge    uint16 = 3 // UDP: say hello again with this cookie
	joined       uint16 = 4 // UDP: other flows are missing yet
	goodbye      uint16 = 5 // UDP: the farewell has come
	noFiles      uint16 = 6
	noSockets    uint16 = 7 // UDP
)

var statusSays = map[uint16]string{
	otherVersion: "the receiver speaks another version of the handshake",
	otherSession: "the receiver already serves another sender",
	noFiles:      "the receiver may open no more files, and needs one for each flow: use fewer, or raise its limit (ulimit -n)",
	noSockets:    "the receiver could not make a socket for each flow",
}

// errForeign is a message of somebody who is no sender of ours; it gets no answer.
var errForeign = errors.New("not a Windtunnel ping")

// token names a session, or proves an address.
type token = lobby.Token

// hello introduces one flow: the Index-th of Total of a session, or ends it.
type hello struct {
	Version  uint16
	Purpose  uint16
	Index    uint32
	Total    uint32
	Message  uint32 // bytes of a request
	Response uint32 // bytes of a response
	Mix      uint16 // 0: requests are alike; else one more than the percent of them that read
	Token    token
	Cookie   token
}

func (h hello) encode() [helloSize]byte {
	var b [helloSize]byte
	copy(b[:], magic)
	binary.BigEndian.PutUint16(b[8:], h.Version)
	binary.BigEndian.PutUint16(b[10:], h.Purpose)
	binary.BigEndian.PutUint32(b[12:], h.Index)
	binary.BigEndian.PutUint32(b[16:], h.Total)
	binary.BigEndian.PutUint32(b[20:], h.Message)
	binary.BigEndian.PutUint32(b[24:], h.Response)
	copy(b[28:], h.Token[:])
	copy(b[44:], h.Cookie[:])
	binary.BigEndian.PutUint16(b[60:], h.Mix)
	return b
}

// decodeHello refuses what a receiver must not act on; another version is let
// through, to be told so.
func decodeHello(b []byte) (hello, error) {
	if len(b) != helloSize || string(b[:8]) != magic {
		return hello{}, errForeign
	}
	h := hello{
		Version:  binary.BigEndian.Uint16(b[8:]),
		Purpose:  binary.BigEndian.Uint16(b[10:]),
		Index:    binary.BigEndian.Uint32(b[12:]),
		Total:    binary.BigEndian.Uint32(b[16:]),
		Message:  binary.BigEndian.Uint32(b[20:]),
		Response: binary.BigEndian.Uint32(b[24:]),
		Token:    token(b[28:44]),
		Cookie:   token(b[44:60]),
		Mix:      binary.BigEndian.Uint16(b[60:]),
	}
	if h.Version == version && !h.sane() {
		return hello{}, errForeign
	}
	return h, nil
}

func (h hello) sane() bool {
	return h.Purpose <= moves && h.Index < h.Total && h.Total <= maxFlows &&
		h.Mix <= 101 && h.Message >= 1 && h.Message <= maxMessage && h.Response >= 1 && h.Response <= maxMessage &&
		(h.Mix == 0 || h.Response <= mostAround(h.Message))
}

// answer is the receiver's word on one hello.
type answer struct {
	Status uint16
	Index  uint32
	Cookie token
}

func (a answer) encode() [answerSize]byte {
	var b [answerSize]byte
	copy(b[:], magic)
	binary.BigEndian.PutUint16(b[8:], version)
	binary.BigEndian.PutUint16(b[10:], a.Status)
	binary.BigEndian.PutUint32(b[12:], a.Index)
	copy(b[16:], a.Cookie[:])
	return b
}

func decodeAnswer(b []byte) (answer, error) {
	if len(b) != answerSize || string(b[:8]) != magic {
		return answer{}, errors.New("the peer is no Windtunnel receiver of pings")
	}
	return answer{
		Status: binary.BigEndian.Uint16(b[10:]),
		Index:  binary.BigEndian.Uint32(b[12:]),
		Cookie: token(b[16:]),
	}, nil
}

// refusal is the reason in an answer that is no step of a handshake.
func (a answer) refusal() error {
	if says, ok := statusSays[a.Status]; ok {
		return errors.New(says)
	}
	return fmt.Errorf("the receiver refused the flow with status %d", a.Status)
}
