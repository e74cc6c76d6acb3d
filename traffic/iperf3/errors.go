package iperf3

import (
	"errors"
	"fmt"
	"syscall"
)

// The ends of a test that the protocol knows.
var (
	ErrAccessDenied     = errors.New("the server is busy running a test: try again later")
	ErrServerTerminated = errors.New("the server has terminated")
	ErrClientTerminated = errors.New("the client has terminated")
	ErrInterrupted      = errors.New("the test was interrupted")
	ErrControlClosed    = errors.New("the control connection was closed unexpectedly")
	// ErrControlClosedUnsaid is how an iperf3 server of 3.21 turns a user away: it closes without a word (iperf_exchange_parameters in
	// iperf_api.c).
	ErrControlClosedUnsaid = fmt.Errorf("%w when the server had the parameters, as one of iperf3 does without a word where it wants a user, or does not let this one in: look at the user, the password, the key, the padding and both clocks", ErrControlClosed)
	ErrNothingReceived     = errors.New("nothing came from the peer for longer than the receive timeout")
	// ErrIdle is Serve's end after IdleTimeout.
	ErrIdle = errors.New("no client came within the idle timeout")
)

// The error numbers that a server sends (iperf_api.h of iperf 3.21).
const (
	ErrorTotalRate       = 27
	ErrorMaxDuration     = 37
	ErrorListen          = 102
	ErrorAccept          = 104
	ErrorRecvCookie      = 106
	ErrorMessage         = 110
	ErrorRecvParams      = 114
	ErrorRecvResults     = 117
	ErrorSetMSS          = 123
	ErrorSetBuffer       = 124
	ErrorSetTOS          = 125
	ErrorAffinity        = 132
	ErrorSetCongestion   = 134
	ErrorSetPacing       = 140
	ErrorBufferSize      = 141
	ErrorAuth            = 142
	ErrorBindDevice      = 143
	ErrorNoMessage       = 144
	ErrorDontFragment    = 145
	ErrorSetUserTimeout  = 148
	ErrorDurationExpired = 160
	ErrorInitStream      = 201
	ErrorStreamAccept    = 204
	ErrorStreamWrite     = 205
	ErrorStreamRead      = 206
)

var errorSays = map[int]string{
	ErrorTotalRate:       "the total rate is above the server's limit: ask for less",
	ErrorMaxDuration:     "the test would last longer than the server allows: ask for less",
	ErrorListen:          "it could not listen for the streams",
	ErrorAccept:          "it could not accept the connection",
	ErrorRecvCookie:      "it did not receive the cookie",
	ErrorMessage:         "it received a message that it does not know",
	ErrorRecvParams:      "it could not read the parameters",
	ErrorRecvResults:     "it could not read the results",
	ErrorSetMSS:          "it cannot set that MSS",
	ErrorSetBuffer:       "it cannot set a socket buffer of that size",
	ErrorSetTOS:          "it cannot set that type of service",
	ErrorSetPacing:       "it cannot pace by the kernel",
	ErrorBindDevice:      "it cannot bind to that device",
	ErrorDontFragment:    "it cannot forbid fragments",
	ErrorSetUserTimeout:  "it cannot set a send timeout",
	ErrorAffinity:        "it cannot run on that CPU",
	ErrorBufferSize:      "its system gives no socket buffer of that size: ask for less, or raise net.core.rmem_max and wmem_max there",
	ErrorSetCongestion:   "it cannot set that congestion control",
	ErrorAuth:            "the authorization failed: look at the user, the password, the key, the padding and both clocks",
	ErrorNoMessage:       "it received nothing for longer than its timeout",
	ErrorDurationExpired: "the test lasted longer than the server allows",
	ErrorInitStream:      "it could not ready the streams",
	ErrorStreamAccept:    "it could not accept the streams",
	ErrorStreamWrite:     "it could not write to a stream",
	ErrorStreamRead:      "it could not read from a stream",
}

// ServerError is the reason that a server gave (state 0xFE): the error number of
// iperf3, and the server's errno, 0 for none.
type ServerError struct {
	Number int
	Errno  int
}

func (e *ServerError) Error() string {
	says, ok := errorSays[e.Number]
	if !ok {
		says = fmt.Sprintf("error %d of iperf3's list", e.Number)
	}
	if e.Errno == 0 {
		return "the server refused: " + says
	}
	return fmt.Sprintf("the server refused: %s (%v)", says, syscall.Errno(e.Errno))
}

// OptionError is a socket that could not be made as asked for: the error number of
// iperf3, and what it was.
type OptionError struct {
	Number int
	Err    error
}

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// sessionError is why a server ends a session: what the client is told, and what
// the operator is.
type sessionError struct {
	number int
	err    error
}

// NumberOf is the protocol's number of why a session cannot go on, whether this server
// refused it or a socket could not be made; 0: it has none.
func NumberOf(err error) int {
	var session *sessionError
	var option *OptionError
	switch {
	case errors.As(err, &option):
		return option.Number
	case errors.As(err, &session):
		return session.number
	}
	return 0
}

func (e *sessionError) Error() string { return e.err.Error() }
func (e *sessionError) Unwrap() error { return e.err }
