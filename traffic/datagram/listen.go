package datagram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

// maxGreeting bounds the connections that have yet to introduce themselves.
const maxGreeting = 64

// listener agrees with one sender on a load. The first whose flows are all open
// wins.
type listener struct {
	load   load
	door   *lobby.Doorman
	bound  []*net.UDPConn // one a thread; nil while the address to bind is any
	agreed chan *session

	mu    sync.Mutex
	done  bool
	taken bool // a sender is opening its flows
	won   bool // a session has the sockets
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
	status := h.judge(ln.load)
	if status == welcome && !ln.take() {
		status = otherSession
	}
	if status != welcome {
		conn.Write(encodeAnswer(status, nil))
		return false
	}
	s := &session{load: ln.load, key: h.key, conn: conn, conns: ln.bound}
	if err := s.accept(ln.isDone); err == nil && ln.win(s) {
		return true
	}
	if ln.bound == nil {
		closeConns(s.conns)
	}
	ln.giveBack()
	return false
}

func closeConns(conns []*net.UDPConn) {
	for _, c := range conns {
		c.Close()
	}
}

// take keeps the place for one sender while it opens its flows.
func (ln *listener) take() bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.done || ln.taken {
		return false
	}
	ln.taken = true
	return true
}

func (ln *listener) giveBack() {
	ln.mu.Lock()
	ln.taken = false
	ln.mu.Unlock()
}

func (ln *listener) isDone() bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.done
}

// win ends the listening in favour of a session.
func (ln *listener) win(s *session) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.done {
		return false
	}
	ln.shut()
	ln.won = true
	s.watch()
	ln.agreed <- s
	return true
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
	if s.conns == nil {
		if s.conns, err = bindThreads(s.load, s.conn.LocalAddr().(*net.TCPAddr), false); err != nil {
			s.conn.Write(encodeAnswer(noSockets, nil))
			return err
		}
	}
	var ports []uint16
	for _, c := range s.conns {
		ports = append(ports, c.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	}
	if _, err := s.conn.Write(encodeAnswer(welcome, ports)); err != nil {
		return err
	}
	if err := s.awaitOpenings(stop); err != nil {
		return err
	}
	_, err = s.conn.Write(note{what: noteReady}.encode())
	return err
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

// awaitOpenings reads the sockets, all at once, until every flow has shown where it
// comes from. A socket that nobody reads fills, and drops those that come last.
func (s *session) awaitOpenings(stop func() bool) error {
	s.peers = make([]netip.AddrPort, s.load.flows)
	began := time.Now()
	failed := make([]error, len(s.conns))
	var all sync.WaitGroup
	for i := range s.conns {
		all.Go(func() { failed[i] = s.awaitAt(i, began, stop) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// awaitAt is awaitOpenings at one socket: its flows are those whose peers it notes.
func (s *session) awaitAt(i int, began time.Time, stop func() bool) error {
	c, b := s.conns[i], make([]byte, s.load.message+1) // one byte more tells a longer one
	left := (s.load.flows - i + len(s.conns) - 1) / len(s.conns)
	for left > 0 {
		if stop() || time.Since(began) > handshakeTimeout {
			return fmt.Errorf("%d flows have sent nothing", left)
		}
		c.SetReadDeadline(time.Now().Add(openEvery))
		n, from, err := c.ReadFromUDPAddrPort(b)
		if flow, ok := s.opened(b[:n]); err == nil && ok && flow%len(s.conns) == i && !s.peers[flow].IsValid() {
			s.peers[flow] = from
			left--
			if i == 0 && s.way == 0 {
				s.way = time.Since(began)
			}
		}
	}
	c.SetReadDeadline(time.Time{})
	if s.load.flows == len(s.conns) { // flow i alone comes by socket i
		pairUp(c, s.peers[i])
	}
	return nil
}

// opened is the flow that a datagram opens.
func (s *session) opened(b []byte) (flow int, ok bool) {
	stamp, ok := headerFor(s.load.message, s.key).Get(b)
	return int(stamp.Flow), ok && stamp.Mark == opening && int(stamp.Flow) < s.load.flows
}
