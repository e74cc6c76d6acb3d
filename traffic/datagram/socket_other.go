//go:build !linux

package datagram

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// socket is a UDP socket that is used through net, one datagram a call.
type socket struct {
	conn      *net.UDPConn
	connected bool
	once      sync.Once
}

const (
	receiveBuffer = 4 << 20
	sendBuffer    = 1 << 20
)

// wsaNoBufs is WSAENOBUFS: there is no room (Windows Sockets error codes).
const wsaNoBufs = syscall.Errno(10055)

// isNoWay tells that the system has no way to the peer: on Windows that is WSAENETDOWN, WSAENETUNREACH and WSAEHOSTUNREACH.
func isNoWay(err error) bool {
	for _, no := range []syscall.Errno{syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EHOSTDOWN, 10050, 10051, 10065} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// wsaNetReset is WSAENETRESET: ICMP said that the time to live of what was sent was over.
const wsaNetReset = syscall.Errno(10052)

// refused tells that ICMP brought an earlier datagram back: on Windows that is
// WSAECONNRESET, and WSAECONNREFUSED under Wine.
func refused(err error) bool {
	const wsaConnReset, wsaConnRefused = syscall.Errno(10054), syscall.Errno(10061)
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wsaConnReset) || errors.Is(err, wsaConnRefused)
}

func takeOver(conn *net.UDPConn, c Config) (*socket, error) {
	s := &socket{conn: conn, connected: conn.RemoteAddr() != nil}
	if c.Buffer < 0 {
		return s, nil
	}
	for _, set := range []struct {
		to     func(int) error
		chosen int
	}{{conn.SetReadBuffer, receiveBuffer}, {conn.SetWriteBuffer, sendBuffer}} {
		want := c.Buffer
		if want == 0 {
			want = set.chosen
		}
		if err := set.to(want); err != nil && c.Buffer > 0 {
			return nil, fmt.Errorf("setting a socket buffer of %d bytes: %w", want, err)
		}
	}
	return s, nil
}

// lacks is nil: see buffers.
func (s *socket) lacks(int) error { return nil }

// knowFull has nothing to tell sockets without drops.
func knowFull([]*socket) (done func()) { return func() {} }

// buffers are 0: these systems cut what is asked for, and net does not read it back.
func (s *socket) buffers() (send, receive int) { return 0, 0 }

// unread is 0: it is not asked for.
func (s *socket) unread() int { return 0 }

// drops is 0: these systems count them for all sockets together only.
func (s *socket) drops() uint64 { return 0 }

func (s *socket) how() (method, why string) { return methodReceive, whyPlain }

const whyPlain = "this system has no calls for many datagrams"

func (s *socket) close() { s.once.Do(func() { s.conn.Close() }) }

// name is a peer.
type name struct{ peer netip.AddrPort }

func (s *socket) name(peer netip.AddrPort) (name, error) {
	if !s.connected && !peer.IsValid() {
		return name{}, errors.New("its socket is not connected: it needs a peer to send to")
	}
	return name{peer}, nil
}

func (n *name) addrPort() netip.AddrPort { return unmapped(n.peer) }

// coarseNS is how much longer a sleep may last than it was asked to: Windows'
// timers tick every 0.5 to 2 ms (timeBeginPeriod).
var coarseNS = map[string]int64{"windows": 2e6}[runtime.GOOS] + 50e3

// sleepFor is how much of a wait a sender sleeps: all but the part that a sleep would
// overrun, in which it looks at the clock again and again.
func sleepFor(ns int64) int64 { return max(0, ns-coarseNS) }

// hurry ends the calls that are under way.
func (e *Engine) hurry() {
	for _, s := range e.sockets {
		s.conn.SetDeadline(time.Unix(1, 0))
	}
}

// canPoll says whether a receiver can ask before it sleeps.
const canPoll = false

// oneThreadReadsMany says whether a thread can wait for several sockets.
const oneThreadReadsMany = false

// batch is the memory of a sending thread's calls.
type batch struct {
	memory  []byte
	message int  // bytes of a datagram
	largest int  // datagrams that are made ready at once
	goesOn  bool // though the peer's port is closed
	gone    bool // ICMP said so, by the last call
}

func newBatch(c Config, _ []*outflow) *batch {
	b := &batch{message: c.Message, goesOn: c.goesOn(), largest: 16}
	b.memory = make([]byte, b.largest*c.Message)
	repeat(b.memory, copy(b.memory, template(c.Message, c.Payload)))
	return b
}

func (b *batch) how() (method, why string) { return methodSend, whyPlain }

// transmit sends n datagrams, a call each.
func (b *batch) transmit(f *outflow, n int) (sent, calls, full int, err error) {
	conn := f.socket.conn
	conn.SetWriteDeadline(time.Now().Add(patience))
	b.gone = false
	for ; sent < n; sent++ {
		datagram := b.memory[sent*b.message:][:b.message]
		if f.socket.connected {
			_, err = conn.Write(datagram)
		} else {
			_, err = conn.WriteToUDPAddrPort(datagram, f.to.peer)
		}
		calls++
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			return sent, calls, full, nil
		case errors.Is(err, syscall.ENOBUFS), errors.Is(err, wsaNoBufs):
			return sent, calls, full + 1, nil
		case refused(err) && b.goesOn && !b.gone: // of an earlier one
			b.gone = true
			sent--
		case refused(err):
			b.gone = true
			return sent, calls, full, errGone
		case isNoWay(err):
			return sent, calls, full, noWay{err}
		default:
			return sent, calls, full, fmt.Errorf("sending: %w", err)
		}
	}
	return sent, calls, full, nil
}

// intake is the memory of a receiving thread's calls.
type intake struct{ memory []byte }

func newIntake(Config, []*inlet) (*intake, error) { return &intake{make([]byte, 64<<10)}, nil }

func (k *intake) close() {}

// turn is one call on the thread's socket.
func (r *receiver) turn() (n int, err error) {
	in := r.inlets[0]
	in.socket.conn.SetReadDeadline(time.Now().Add(patience))
	if r.engine.stop.Load() { // hurry came before the deadline was set
		return 0, nil
	}
	size, from, err := in.socket.conn.ReadFromUDPAddrPort(r.calls.memory)
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded), refused(err), errors.Is(err, wsaNetReset):
		return 0, nil
	default:
		return 0, fmt.Errorf("receiving: %w", err)
	}
	now := r.engine.clock.now()
	r.thread.latch.lock()
	r.message(in, r.calls.memory[:size], size, &name{from}, now)
	r.thread.latch.unlock()
	return 1, nil
}

// takeAggregates has nothing to do: nothing is joined here.
func takeAggregates(*net.UDPConn) {}
