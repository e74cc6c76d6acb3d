//go:build !linux

package datagram

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
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

// WSAECONNRESET tells on Windows that ICMP brought an earlier datagram back,
// WSAENOBUFS that there is no room (Windows Sockets error codes).
const (
	wsaConnReset = syscall.Errno(10054)
	wsaNoBufs    = syscall.Errno(10055)
)

func takeOver(conn *net.UDPConn, c Config) (*socket, error) {
	s := &socket{conn: conn, connected: conn.RemoteAddr() != nil}
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

// sharpen has nothing to do: these systems' sleeps take no setting.
func sharpen() error { return nil }

// pause sleeps for so many ns.
func pause(ns int64) {
	if ns > 0 {
		time.Sleep(time.Duration(ns))
	}
}

// hurry ends the calls that are under way.
func (e *Engine) hurry() {
	for _, s := range e.sockets {
		s.conn.SetDeadline(time.Unix(1, 0))
	}
}

// oneThreadReadsMany says whether a thread can wait for several sockets.
const oneThreadReadsMany = false

// batch is the memory of a sending thread's calls.
type batch struct {
	memory  []byte
	message int // bytes of a datagram
	largest int // datagrams that are made ready at once
}

func newBatch(c Config) *batch {
	b := &batch{message: c.Message, largest: 16}
	b.memory = make([]byte, b.largest*c.Message)
	repeat(b.memory, copy(b.memory, template(c.Message, c.Payload)))
	return b
}

func (b *batch) how() (method, why string) { return methodSend, whyPlain }

// transmit sends n datagrams, a call each.
func (b *batch) transmit(f *outflow, n int) (sent, calls, refused int, err error) {
	conn := f.socket.conn
	conn.SetWriteDeadline(time.Now().Add(patience))
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
			return sent, calls, refused, nil
		case errors.Is(err, syscall.ENOBUFS), errors.Is(err, wsaNoBufs):
			return sent, calls, refused + 1, nil
		case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaConnReset):
			return sent, calls, refused, errGone
		default:
			return sent, calls, refused, fmt.Errorf("sending: %w", err)
		}
	}
	return sent, calls, refused, nil
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
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaConnReset):
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
