package stream

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

// connect makes a sender: all streams connected, and the receiver's word that
// it has them all.
func connect(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conns, err := dialAll(ctx, l, order.Address)
	if err == nil {
		err = awaitAnswers(ctx, conns)
	}
	if err != nil {
		closeConns(conns)
		return nil, fmt.Errorf("connecting to %s: %w", order.Address, err)
	}
	return newWorker(l, order, conns), nil
}

// dialAll returns the connections made so far beside an error.
func dialAll(ctx context.Context, l load, address string) ([]*net.TCPConn, error) {
	conns, err := lobby.Dial(ctx, address, l.connections(), l.control())
	if err != nil {
		return conns, err
	}
	var session token
	rand.Read(session[:])
	for i, conn := range conns {
		greeting := hello{Version: version, Direction: l.direction, Index: uint32(i), Total: uint32(l.connections()), Token: session}.encode()
		if _, err := conn.Write(greeting[:]); err != nil {
			return conns, fmt.Errorf("introducing stream %d: %w", i, err)
		}
	}
	return conns, nil
}

func awaitAnswers(ctx context.Context, conns []*net.TCPConn) error {
	hurry := func() {
		for _, c := range conns {
			c.SetReadDeadline(time.Unix(1, 0))
		}
	}
	defer context.AfterFunc(ctx, hurry)()
	for i, conn := range conns {
		var answer [answerSize]byte
		if _, err := io.ReadFull(conn, answer[:]); err != nil {
			return fmt.Errorf("waiting for the receiver's answer on stream %d: %w", i, err)
		}
		if err := decodeAnswer(answer[:]); err != nil {
			return err
		}
	}
	return nil
}

func closeConns(conns []*net.TCPConn) {
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
}
