package datagram

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"time"

	"windtunnel/traffic"
)

const (
	// handshakeTimeout bounds each step of a handshake where the context does not.
	handshakeTimeout = 5 * time.Second
	// openEvery is the time between two opening datagrams of a flow, at first.
	openEvery = 50 * time.Millisecond
	// openAtOnce is how many bytes of them leave at once, or one: what a queue on the way may hold.
	openAtOnce = 16 << 10
	// openSlowest bounds the time of a round in which the flows' datagrams leave in parts.
	openSlowest = 1600 * time.Millisecond
)

// connect makes a sender: the receiver has agreed to the load, and a datagram of
// every flow has reached it.
func connect(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	dialer := net.Dialer{}
	dialer.SetMultipathTCP(false)
	conn, err := dialer.DialContext(ctx, "tcp", order.Address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", order.Address, err)
	}
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	s := &session{load: l, key: newKey(), conn: conn}
	if err := s.introduce(ctx); err != nil {
		s.close()
		return nil, fmt.Errorf("agreeing with %s: %w", order.Address, err)
	}
	s.watch()
	return newWorker(l, order, s, nil), nil
}

func newKey() key {
	var b [16]byte
	rand.Read(b[:])
	return key{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

func (s *session) introduce(ctx context.Context) error {
	ports, err := s.ask()
	if err != nil {
		return err
	}
	return s.openAll(ctx, ports)
}

// ask says hello, and returns the receiver's UDP ports.
func (s *session) ask() ([]uint16, error) {
	greeting := helloOf(s.load, s.key).encode()
	if _, err := s.conn.Write(greeting[:]); err != nil {
		return nil, fmt.Errorf("saying hello: %w", err)
	}
	return readAnswer(s.conn, s.load.flows)
}

// openAll makes the flows' sockets and opens them.
func (s *session) openAll(ctx context.Context, ports []uint16) error {
	peer := s.conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
	for i := range s.load.flows {
		c, err := dialFlow(ctx, s.load, netip.AddrPortFrom(peer, ports[i%len(ports)]))
		if err != nil {
			return fmt.Errorf("opening flow %d: %w", i, err)
		}
		s.conns = append(s.conns, c)
	}
	return s.open()
}

func dialFlow(ctx context.Context, l load, to netip.AddrPort) (*net.UDPConn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", to.String())
	if err != nil {
		return nil, err
	}
	conn := c.(*net.UDPConn)
	if err := setDSCP(conn, l.dscp); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// open sends each flow's opening datagram until the receiver has them all. Those of many flows leave in parts, slower from round to round.
func (s *session) open() error {
	ready := make(chan error, 1)
	go func() {
		n, err := readNote(s.conn)
		if err == nil && n.what != noteReady {
			err = fmt.Errorf("the receiver sent note %d before it was ready", n.what)
		}
		ready <- err
	}()
	began := time.Now()
	for every := openEvery; ; {
		parts := s.openingParts()
		pause := every / time.Duration(len(parts))
		for _, part := range parts {
			s.sendOpenings(part)
			select {
			case err := <-ready:
				if err != nil {
					return fmt.Errorf("waiting until the datagrams of all flows reach the receiver's UDP port %s: %w", s.conns[0].RemoteAddr(), err)
				}
				s.way = time.Since(began)
				return nil
			case <-time.After(pause):
			}
		}
		if len(parts) > 1 {
			every = min(2*every, openSlowest)
		}
	}
}

// openingParts are the flows in parts whose opening datagrams may leave at once, in a new order each time: a queue that is full drops those
// that come last, and is not to drop the same ones again.
func (s *session) openingParts() [][]int {
	all := mathrand.Perm(len(s.conns))
	return slices.Collect(slices.Chunk(all, max(1, openAtOnce/s.load.message)))
}

func (s *session) sendOpenings(flows []int) {
	codec := headerFor(s.load.message, s.key)
	b := template(s.load.message, nil)
	for _, i := range flows {
		codec.Put(b, Stamp{Flow: uint32(i), Mark: opening})
		s.conns[i].Write(b) // a refusal shows in that no answer comes
	}
}
