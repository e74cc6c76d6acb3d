package ping

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

// handshakeTimeout bounds each step of a handshake where the context does not.
const handshakeTimeout = 5 * time.Second

// connectTimeout is what a sender has for all of it. It introduces its connections when all of them stand, so that the first may wait as long.
const connectTimeout = 2 * handshakeTimeout

// connect makes a sender: all flows connected, and the receiver's word that it has
// them all.
func connect(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var session token
	rand.Read(session[:])
	flows := ends{token: session}
	err := flows.dial(ctx, l, order.Address)
	if err == nil && l.udp {
		err = flows.introduceDatagrams(ctx, l)
	} else if err == nil {
		err = flows.introduceStreams(ctx, l)
	}
	if err != nil {
		flows.close()
		return nil, fmt.Errorf("connecting to %s: %w", order.Address, err)
	}
	return newWorker(l, order, &flows, nil), nil
}

// greeting is the hello of one flow.
func (l load) greeting(i int, session token) hello {
	h := hello{
		Version: version, Index: uint32(i), Total: uint32(l.flows),
		Message: uint32(l.message), Response: uint32(l.response), Token: session,
	}
	if l.mixed {
		h.Mix = uint16(l.reads) + 1
	}
	return h
}

// dial keeps the connections made so far beside an error.
func (e *ends) dial(ctx context.Context, l load, address string) error {
	if !l.udp {
		conns, err := lobby.Dial(ctx, address, l.flows, l.control())
		for _, conn := range conns {
			e.conns = append(e.conns, conn)
		}
		return err
	}
	dialer := net.Dialer{Control: l.control()}
	for range l.flows {
		conn, err := dialer.DialContext(ctx, "udp", address)
		if err != nil {
			return err
		}
		e.conns = append(e.conns, conn)
	}
	return nil
}

// introduceStreams says hello on every connection, then waits for all answers.
func (e *ends) introduceStreams(ctx context.Context, l load) error {
	hurry := func() {
		for _, c := range e.conns {
			c.SetDeadline(time.Unix(1, 0))
		}
	}
	defer context.AfterFunc(ctx, hurry)()
	for i, conn := range e.conns {
		b := l.greeting(i, e.token).encode()
		if _, err := conn.Write(b[:]); err != nil {
			return fmt.Errorf("introducing flow %d: %w", i, err)
		}
	}
	for i, conn := range e.conns {
		var b [answerSize]byte
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			return fmt.Errorf("waiting for the receiver's answer on flow %d: %w", i, err)
		}
		a, err := decodeAnswer(b[:])
		if err != nil {
			return err
		}
		if a.Status != welcome {
			return a.refusal()
		}
	}
	return nil
}
