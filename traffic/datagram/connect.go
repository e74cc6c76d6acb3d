package datagram

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"time"

	"windtunnel/traffic"
)

const (
	// handshakeTimeout bounds each step of a handshake where the context does not.
	handshakeTimeout = 5 * time.Second
	// openEvery is the time between two opening datagrams of a flow.
	openEvery = 50 * time.Millisecond
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

// open sends each flow's opening datagram until the receiver has them all.
func (s *session) open() error {
	ready := make(chan error, 1)
	go func() {
		n, err := readNote(s.conn)
		if err == nil && n.what != noteReady {
			err = fmt.Errorf("the receiver sent note %d before it was ready", n.what)
		}
		ready <- err
	}()
	codec := headerFor(s.load.message, s.key)
	b := template(s.load.message, nil)
	tick := time.NewTicker(openEvery)
	defer tick.Stop()
	began := time.Now()
	for {
		for i, c := range s.conns {
			codec.Put(b, Stamp{Flow: uint32(i), Mark: opening})
			c.Write(b) // a refusal shows in that no answer comes
		}
		select {
		case err := <-ready:
			if err != nil {
				return fmt.Errorf("waiting until the datagrams of all flows reach the receiver's UDP port %s: %w", s.conns[0].RemoteAddr(), err)
			}
			s.way = time.Since(began)
			return nil
		case <-tick.C:
		}
	}
}
