package datagram

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

const (
	// maxGreeting bounds the connections that have yet to introduce themselves.
	maxGreeting = 64
	// mostOpening bounds the senders that open their flows at once.
	mostOpening = 8
)

// listener agrees with one sender on a load. The first whose flows are all open
// wins.
type listener struct {
	load   load
	door   *lobby.Doorman
	bound  []*net.UDPConn // one a thread; nil while the address to bind is any
	agreed chan *session

	mu      sync.Mutex
	done    bool
	opening []*session // senders that open their flows, the first one first; at most mostOpening
	silence func()     // ends the reading of the bound sockets; nil before the first sender
	won     bool       // a session has the sockets
}

func listen(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	socket, err := lobby.Listen(ctx, order.Address, nil)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", order.Address, err)
	}
	ln := &listener{load: l, door: lobby.NewDoorman(socket, maxGreeting, handshakeTimeout), agreed: make(chan *session, 1)}
	if local := socket.Addr().(*net.TCPAddr); !local.IP.IsUnspecified() {
		if ln.bound, err = bindThreads(l, local, namesPort(order.Address)); err != nil {
			socket.Close()
			return nil, fmt.Errorf("opening UDP sockets on %s: %w", local.IP, err)
		}
	}
	ln.door.Open(helloSize, func(b []byte, conn net.Conn) {
		if !ln.greet(b, conn) {
			conn.Close()
		}
	}, lack)
	return newWorker(l, order, nil, ln), nil
}

// lack tells a sender that there is no file for its connection.
func lack(b []byte, conn net.Conn) {
	if _, err := decodeHello(b); err == nil {
		conn.Write(encodeAnswer(noFiles, nil))
	}
	conn.Close()
}

// greet takes a sender through the rest of the handshake, which isDone ends, and
// reports whether it won.
func (ln *listener) greet(b []byte, conn net.Conn) bool {
	h, err := decodeHello(b)
	if err != nil {
		return false // a stranger gets no answer
	}
	s := &session{load: ln.load, key: h.key, conn: conn, conns: ln.bound, whole: make(chan struct{})}
	status := h.judge(ln.load)
	if status == welcome && !ln.enter(s) {
		status = otherSession
	}
	if status != welcome {
		conn.Write(encodeAnswer(status, nil))
		return false
	}
	if err := s.accept(func() bool { return !ln.isOpening(s) }); err == nil && ln.win(s) {
		return true
	}
	if ln.bound == nil {
		closeConns(s.conns)
	}
	ln.leave(s)
	return false
}

func closeConns(conns []*net.UDPConn) {
	for _, c := range conns {
		c.Close()
	}
}

// enter lets a sender open its flows, beside others: one that never does, as a stranger, keeps nobody out. Where there are too many, the
// first one makes way.
func (ln *listener) enter(s *session) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.done {
		return false
	}
	if len(ln.opening) >= mostOpening {
		ln.opening[0].conn.Close()
		ln.opening = slices.Delete(ln.opening, 0, 1)
	}
	ln.opening = append(ln.opening, s)
	if ln.bound != nil && ln.silence == nil {
		ln.silence = readOpenings(ln.bound, ln.load.message, ln.opened)
	}
	return true
}

func (ln *listener) leave(s *session) {
	ln.mu.Lock()
	ln.opening = slices.DeleteFunc(ln.opening, func(one *session) bool { return one == s })
	ln.mu.Unlock()
}

func (ln *listener) isOpening(s *session) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return !ln.done && slices.Contains(ln.opening, s)
}

// opened gives what came by a bound socket, which all senders share, to whomever it is of.
func (ln *listener) opened(socket int, b []byte, from netip.AddrPort) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	for _, s := range ln.opening {
		s.note(socket, b, from)
	}
}

// win ends the listening in favour of a session, and tells its sender when nobody reads the sockets any more.
func (ln *listener) win(s *session) bool {
	ln.mu.Lock()
	if ln.done || !slices.Contains(ln.opening, s) {
		ln.mu.Unlock()
		return false
	}
	ln.shut()
	ln.won = true
	ln.mu.Unlock()
	ln.hush()
	s.welcome()
	s.watch()
	ln.agreed <- s
	return true
}

// hush ends the reading of the bound sockets. Who reads them may be waiting for the lock.
func (ln *listener) hush() {
	ln.mu.Lock()
	silence := ln.silence
	ln.silence = nil
	ln.mu.Unlock()
	if silence != nil {
		silence()
	}
}

// shut stops listening and hurries whoever is still at the handshake. The caller
// holds the lock.
func (ln *listener) shut() {
	ln.done = true
	ln.door.Shut()
}

// close stops listening, waits for the handlers, and closes a session that
// nobody took.
func (ln *listener) close() {
	ln.mu.Lock()
	if !ln.done {
		ln.shut()
	}
	ln.mu.Unlock()
	ln.door.Wait()
	ln.hush()
	select {
	case s := <-ln.agreed:
		s.close()
	default:
		if !ln.won {
			closeConns(ln.bound)
		}
	}
}

// accept tells the sender the ports and waits until it has heard from every flow.
func (s *session) accept(stop func() bool) (err error) {
	own := s.conns == nil
	if own {
		if s.conns, err = bindThreads(s.load, s.conn.LocalAddr().(*net.TCPAddr), false); err != nil {
			s.conn.Write(encodeAnswer(noSockets, nil))
			return err
		}
	}
	var ports []uint16
	for _, c := range s.conns {
		ports = append(ports, c.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	}
	s.expect()
	if _, err := s.conn.Write(encodeAnswer(welcome, ports)); err != nil {
		return err
	}
	if own {
		defer readOpenings(s.conns, s.load.message, s.note)()
	}
	return s.awaitOpenings(stop)
}

// welcome lets the sender begin. Where each of its flows has a socket, that hears it alone from now on. One that has gone is found by the run.
func (s *session) welcome() {
	for i, c := range s.conns {
		if s.load.flows == len(s.conns) { // flow i alone comes by socket i
			pairUp(c, s.peers[i])
		}
	}
	s.conn.SetDeadline(time.Now().Add(handshakeTimeout))
	s.conn.Write(note{what: noteReady}.encode())
}

// namesPort tells whether who listens was told on which port.
func namesPort(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Port() != 0
}

// bindThreads opens a socket a thread. The first has the number of the control
// connection's port where that is free: one number to let through a packet filter, and
// where it was named no other will do.
func bindThreads(l load, local *net.TCPAddr, named bool) (conns []*net.UDPConn, err error) {
	for i := range l.threads {
		at := net.UDPAddr{IP: local.IP, Zone: local.Zone}
		if i == 0 {
			at.Port = local.Port
		}
		c, err := bindFlow(l, at)
		if err != nil && i == 0 && !named {
			at.Port = 0
			c, err = bindFlow(l, at)
		}
		if err != nil {
			closeConns(conns)
			return nil, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

func bindFlow(l load, at net.UDPAddr) (*net.UDPConn, error) {
	c, err := net.ListenUDP("udp", &at)
	if err != nil {
		return nil, err
	}
	if err := setDSCP(c, l.dscp); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// readOpenings reads sockets, all at once, and has note take what comes. A socket that nobody reads fills, and drops those that come last.
// One alone reads each: of several that wait for one socket, some would never have their turn.
func readOpenings(conns []*net.UDPConn, message int, note func(socket int, b []byte, from netip.AddrPort)) (end func()) {
	var over atomic.Bool
	var all sync.WaitGroup
	for i, c := range conns {
		all.Go(func() {
			b := make([]byte, message+1) // one byte more tells a longer one
			for !over.Load() {
				c.SetReadDeadline(time.Now().Add(openEvery))
				if n, from, err := c.ReadFromUDPAddrPort(b); err == nil {
					note(i, b[:n], from)
				}
			}
		})
	}
	return func() {
		over.Store(true)
		for _, c := range conns {
			c.SetReadDeadline(time.Unix(1, 0))
		}
		all.Wait()
		for _, c := range conns {
			c.SetReadDeadline(time.Time{})
		}
	}
}

// expect lets openings be noted from now on, before the sender can know the ports: it sends them again, but later.
func (s *session) expect() {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.peers, s.unheard, s.began = make([]netip.AddrPort, s.load.flows), s.load.flows, time.Now()
}

// awaitOpenings waits until every flow has shown where it comes from.
func (s *session) awaitOpenings(stop func() bool) error {
	look := time.NewTicker(openEvery)
	defer look.Stop()
	for limit := time.Now().Add(handshakeTimeout); ; {
		select {
		case <-s.whole:
			return nil
		case now := <-look.C:
			if stop() || now.After(limit) {
				s.noting.Lock()
				defer s.noting.Unlock()
				return fmt.Errorf("%d flows have sent nothing", s.unheard)
			}
		}
	}
}

// note takes a datagram that came by a socket, where it opens a flow of this session.
func (s *session) note(socket int, b []byte, from netip.AddrPort) {
	flow, ok := s.opened(b)
	s.noting.Lock()
	defer s.noting.Unlock()
	if !ok || flow >= len(s.peers) || flow%len(s.conns) != socket || s.peers[flow].IsValid() {
		return
	}
	s.peers[flow] = from
	if socket == 0 && s.way == 0 {
		s.way = time.Since(s.began)
	}
	if s.unheard--; s.unheard == 0 {
		close(s.whole)
	}
}

// opened is the flow that a datagram opens.
func (s *session) opened(b []byte) (flow int, ok bool) {
	stamp, ok := headerFor(s.load.message, s.key).Get(b)
	return int(stamp.Flow), ok && stamp.Mark == opening && int(stamp.Flow) < s.load.flows
}
