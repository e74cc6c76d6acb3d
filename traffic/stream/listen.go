package stream

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

// spareHandshakes is how many connections may be unidentified beyond the streams that
// are expected.
const spareHandshakes = 64

// group is what has come of one sender; its streams all have the one load's word.
type group = lobby.Group[struct{}, *net.TCPConn]

// listener collects the connections of one sender. The first session to be complete
// wins.
type listener struct {
	load    load
	door    *lobby.Doorman
	streams chan []*net.TCPConn // the complete session's, once

	mu    sync.Mutex
	done  bool
	lobby lobby.Lobby[struct{}, *net.TCPConn]
}

func listen(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	socket, err := lobby.Listen(ctx, order.Address, l.control())
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", order.Address, err)
	}
	ln := &listener{
		load: l, door: lobby.NewDoorman(socket, l.connections()+spareHandshakes, connectTimeout),
		streams: make(chan []*net.TCPConn, 1),
	}
	ln.door.Open(helloSize, ln.greet, ln.lack)
	w := newWorker(l, order, nil)
	w.listener = ln
	return w, nil
}

// greet lets a connection join its session, or closes it.
func (ln *listener) greet(b []byte, conn net.Conn) {
	h, err := decodeHello(b)
	if err != nil {
		conn.Close()
		return
	}
	if status := ln.join(h, conn.(*net.TCPConn)); status != welcome {
		answer := encodeAnswer(status)
		conn.Write(answer[:])
		conn.Close()
	}
}

// lack tells a sender, at the connections that have come, that there is no file for all of them.
func (ln *listener) lack(b []byte, conn net.Conn) {
	conns := []*net.TCPConn{conn.(*net.TCPConn)}
	h, err := decodeHello(b)
	if err == nil {
		ln.mu.Lock()
		conns = append(conns, ln.lobby.TurnAway(h.Token)...)
		ln.mu.Unlock()
		answer := encodeAnswer(noFiles)
		for _, c := range conns {
			c.Write(answer[:])
		}
	}
	closeConns(conns)
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
	switch {
	case ln.done:
		return otherSession
	case ln.lobby.TurnedAway(h.Token): // for want of files: see lack
		return noFiles
	}
	g, gone := ln.lobby.Join(h.Token, struct{}{}, int(h.Index), int(h.Total), conn)
	closeConns(gone)
	if g == nil {
		return otherSession
	}
	if g.Complete() {
		ln.complete(g)
	}
	return welcome
}

// complete ends the listening and answers the winner. A stream that broke
// meanwhile is found by the run.
func (ln *listener) complete(winner *group) {
	ln.shut(winner)
	answer := encodeAnswer(welcome)
	for _, conn := range winner.Flows {
		conn.SetDeadline(time.Now().Add(handshakeTimeout))
		conn.Write(answer[:])
		conn.SetDeadline(time.Time{}) // the handshake's
	}
	ln.streams <- winner.Flows
}

// shut stops listening and closes every connection but the kept session's. The
// caller holds the lock.
func (ln *listener) shut(kept *group) {
	ln.done = true
	ln.door.Shut()
	closeConns(ln.lobby.Clear(kept))
}

// close stops listening, waits for the handlers, and closes the sockets that
// nobody took.
func (ln *listener) close() {
	ln.mu.Lock()
	if !ln.done {
		ln.shut(nil)
	}
	ln.mu.Unlock()
	ln.door.Wait()
	select {
	case conns := <-ln.streams:
		closeConns(conns)
	default:
	}
}
