package iperf3

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// The greeting of a UDP stream and the answers to it, as they stand on the wire.
// Before 3.14 both were other numbers, in the order of the host's bytes.
const (
	udpHello       = 0x39383736
	udpReply       = 0x36373839
	udpHelloLegacy = 0x15cd5b07 // 123456789, least significant byte first
	udpReplyLegacy = 0xb168de3a // 987654321
	udpHelloSize   = 4
	maxEarlyData   = 2 // datagrams of a reverse test that may overtake the answer
)

// createStreams makes the data streams one after another, those on which this
// end sends first.
func (c *client) createStreams(ctx context.Context) error {
	for i := range c.test.streams() {
		conn, err := c.dialStream(ctx, i)
		if err != nil {
			return fmt.Errorf("making data stream %d of %d: %w", i+1, c.test.streams(), err)
		}
		c.streams = append(c.streams, newStream(i, conn, c.test.sends(i, false)))
	}
	return nil
}

func (c *client) dialStream(ctx context.Context, index int) (net.Conn, error) {
	network := string(c.test.Protocol)
	port := c.options.ClientPort
	if port != 0 {
		port += index
	}
	local, err := c.local(network, port)
	if err != nil {
		return nil, err
	}
	o := c.test.options()
	o.device, o.reuse = c.options.BindDevice, port != 0
	if !c.options.MultipathTCP { // which has no such option; iperf3 sets it on control connections alone
		o.userTimeout = c.options.SendTimeout
	}
	dialer := net.Dialer{Timeout: c.connectTimeout(), LocalAddr: local, Control: o.control, KeepAlive: -1}
	dialer.SetMultipathTCP(c.options.MultipathTCP)
	// To the very address that answered, not to another one of the same name.
	conn, err := dialer.DialContext(ctx, network, c.control.conn.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	if err := c.introduce(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// introduce tells the server whose stream it is.
func (c *client) introduce(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	conn.SetDeadline(time.Now().Add(greetingTimeout))
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if c.test.Protocol == TCP {
		if _, err := conn.Write(c.cookie[:]); err != nil {
			return fmt.Errorf("sending the cookie: %w", err)
		}
		return conn.SetDeadline(time.Time{})
	}
	if _, err := conn.Write(binary.BigEndian.AppendUint32(nil, udpHello)); err != nil {
		return fmt.Errorf("greeting the server: %w", err)
	}
	watched := c.watchServer(conn)
	err := c.awaitReply(conn)
	started, refused := watched()
	if refused != nil {
		return refused
	}
	if err != nil && !started {
		return fmt.Errorf("waiting for the server's answer to a UDP greeting: %w; is UDP let through?", err)
	}
	return conn.SetDeadline(time.Time{})
}

// watchServer ends the wait for an answer to a greeting where the server has refused at the control connection, which may be for a
// reason that no answer tells; and where it starts a test in which this end only sends, and so reads no answer later: it has all streams
// then. What it returns ends the watching, and tells which it was.
//
// A greeting that was lost is not sent again. One that comes to a server of iperf3 which has the stream already is a datagram of the test to
// it, and what its buffer holds behind the four bytes is the number: of 87 datagrams 3.12 then counts 1,230,732,265 as lost, and 3.21 692.
func (c *client) watchServer(conn net.Conn) (end func() (started bool, refused error)) {
	said, done, watched := c.control.listen(), make(chan struct{}), make(chan struct{})
	var got *heard
	go func() {
		defer close(watched)
		select {
		case h := <-said:
			got = &h
			if h.err != nil || h.state.refuses() || c.hasStreams(h.state) {
				conn.SetReadDeadline(time.Unix(1, 0)) // at once: the server's time begins with its start
			}
		case <-done:
		}
	}()
	return func() (started bool, refused error) {
		close(done)
		<-watched
		if got == nil {
			return false, nil
		}
		if got.err == nil && !got.state.refuses() {
			c.control.unhear(*got)
			return c.hasStreams(got.state), nil
		}
		c.control.heard()
		if got.err != nil {
			return false, got.err
		}
		return false, c.control.refusal(got.state)
	}
}

// hasStreams tells of a server's state whether that of a test in which this end only sends has all its streams.
func (c *client) hasStreams(said state) bool { return said == testStart && !c.test.receives(false) }

// awaitReply passes over data that overtook the answer.
func (c *client) awaitReply(conn net.Conn) error {
	b := make([]byte, MaxUDPLength+1)
	for range 1 + maxEarlyData {
		n, err := conn.Read(b)
		if err != nil {
			return err
		}
		if n < udpHelloSize {
			continue
		}
		switch binary.BigEndian.Uint32(b) {
		case udpReply, udpReplyLegacy:
			return nil
		}
	}
	return errors.New("it answered with something else")
}

// start is what the observer hears when all streams stand.
func (c *client) start(m mover) Start {
	s := c.about()
	s.describe(c.streams, m)
	return s
}

// about is what is known of it without streams.
func (c *client) about() Start {
	conn := c.control.conn
	return Start{
		Time: time.Now(), Host: c.options.Host, Port: int(addressOf(conn.RemoteAddr()).Port()), ClientVersion: Version,
		Cookie: c.cookie.String(), ControlLocal: addressOf(conn.LocalAddr()), ControlRemote: addressOf(conn.RemoteAddr()),
		ControlMSS: factsOf(conn).mss, Test: c.test,
	}
}

func (s *Start) describe(streams []*dataStream, m mover) {
	s.SendBufferActual, s.ReceiveBufferActual = m.buffers()
	for _, d := range streams {
		s.Connections = append(s.Connections, d.shown)
	}
}
