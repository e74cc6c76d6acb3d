package stream

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"windtunnel/traffic"
)

const (
	// maxSessions bounds the senders that are let wait for their last stream;
	// the oldest makes way.
	maxSessions = 16
	// spareHandshakes is how many connections may be unidentified beyond the
	// streams that are expected.
	spareHandshakes = 64
)

// listener collects the connections of one sender. The first session to be
// complete wins; then nothing listens any more, so that a foreign connection
// costs the measured threads nothing.
type listener struct {
	load     load
	socket   *net.TCPListener
	streams  chan []*net.TCPConn // the complete session's, once
	handlers sync.WaitGroup

	mu       sync.Mutex
	done     bool
	greeting map[*net.TCPConn]struct{}
	sessions []*session // oldest first
}

// session is what has come of one sender.
type session struct {
	token token
	conns []*net.TCPConn
	count int
}

func listen(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	config := net.ListenConfig{Control: l.control(), KeepAlive: -1}
	config.SetMultipathTCP(false)
	socket, err := config.Listen(ctx, "tcp", bindAddress(order.Address))
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", order.Address, err)
	}
	ln := &listener{
		load: l, socket: socket.(*net.TCPListener), streams: make(chan []*net.TCPConn, 1),
		greeting: map[*net.TCPConn]struct{}{},
	}
	ln.handlers.Go(ln.accept)
	w := newWorker(l, order, nil)
	w.listener = ln
	return w, nil
}

// bindAddress takes an IP, or an IP:port where the caller wants the port.
func bindAddress(address string) string {
	if _, err := netip.ParseAddrPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, "0")
}

func (ln *listener) accept() {
	for {
		conn, err := ln.socket.AcceptTCP()
		if err != nil {
			return // closed, or out of descriptors: then no session gets complete, and Run says so
		}
		if !ln.admit(conn) {
			conn.Close()
			continue
		}
		ln.handlers.Go(func() { ln.greet(conn) })
	}
}

// admit counts a connection among those that have yet to introduce themselves.
func (ln *listener) admit(conn *net.TCPConn) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.done || len(ln.greeting) >= ln.load.connections()+spareHandshakes {
		return false
	}
	ln.greeting[conn] = struct{}{}
	conn.SetDeadline(time.Now().Add(handshakeTimeout)) // under the lock: shut shortens it
	return true
}

// greet reads one hello and lets the connection join its session, or closes it.
func (ln *listener) greet(conn *net.TCPConn) {
	var b [helloSize]byte
	_, err := io.ReadFull(conn, b[:])
	ln.mu.Lock()
	delete(ln.greeting, conn)
	ln.mu.Unlock()
	if err != nil {
		conn.Close()
		return
	}
	h, err := decodeHello(b[:])
	if err != nil {
		conn.Close()
		return
	}
	if status := ln.join(h, conn); status != welcome {
		answer := encodeAnswer(status)
		conn.Write(answer[:])
		conn.Close()
	}
}

// join adds a connection to its session and, when it was the last one, hands
// the session over. A welcome is answered only then.
func (ln *listener) join(h hello, conn *net.TCPConn) (status uint16) {
	if h.Version != version {
		return otherVersion
	}
	if h.Direction != ln.load.direction {
		return otherWay
	}
	if int(h.Total) != ln.load.connections() {
		return otherCount
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.done {
		return otherSession
	}
	s := ln.session(h.Token)
	if s.conns[h.Index] != nil {
		return otherSession
	}
	s.conns[h.Index] = conn
	s.count++
	if s.count == ln.load.connections() {
		ln.complete(s)
	}
	return welcome
}

func (ln *listener) session(t token) *session {
	for _, s := range ln.sessions {
		if s.token == t {
			return s
		}
	}
	if len(ln.sessions) == maxSessions {
		closeConns(ln.sessions[0].conns)
		ln.sessions = ln.sessions[1:]
	}
	s := &session{token: t, conns: make([]*net.TCPConn, ln.load.connections())}
	ln.sessions = append(ln.sessions, s)
	return s
}

// complete ends the listening and answers the winner. A stream that broke
// meanwhile is found by the run.
func (ln *listener) complete(winner *session) {
	ln.shut(winner)
	answer := encodeAnswer(welcome)
	for _, conn := range winner.conns {
		conn.Write(answer[:])
		conn.SetDeadline(time.Time{}) // the handshake's
	}
	ln.streams <- winner.conns
}

// shut stops listening and closes every connection but the kept session's. The
// caller holds the lock.
func (ln *listener) shut(kept *session) {
	ln.done = true
	ln.socket.Close()
	for conn := range ln.greeting {
		conn.SetDeadline(time.Unix(1, 0))
	}
	for _, s := range ln.sessions {
		if s != kept {
			closeConns(s.conns)
		}
	}
	ln.sessions = nil
}

// close stops listening, waits for the handlers, and closes the sockets that
// nobody took.
func (ln *listener) close() {
	ln.mu.Lock()
	if !ln.done {
		ln.shut(nil)
	}
	ln.mu.Unlock()
	ln.handlers.Wait()
	select {
	case conns := <-ln.streams:
		closeConns(conns)
	default:
	}
}
