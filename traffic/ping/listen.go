package ping

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

// mostGreeting is how many connections may be unidentified at once.
const mostGreeting = maxFlows + 64

// listener is a receiver before its session.
type listener interface {
	address() string
	// session yields the first complete session, once.
	session() <-chan session
	close()
}

// session is a sender that has introduced all its flows.
type session struct {
	load load // with the sizes that the sender named
	ends *ends
}

func listen(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	var ln listener
	var err error
	if l.udp {
		ln, err = listenDatagrams(ctx, l, lobby.BindAddress(order.Address))
	} else {
		ln, err = listenStreams(ctx, l, order.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", order.Address, err)
	}
	return newWorker(l, order, nil, ln), nil
}

// sizes are what the flows of a sender agree on.
type sizes struct {
	message, response uint32
	mix               uint16
}

func (h hello) sizes() sizes { return sizes{h.Message, h.Response, h.Mix} }

// of is the receiver's load with what the sender said of its own.
func (l load) of(said sizes, flows int) load {
	l.message, l.response, l.flows = int(said.message), int(said.response), flows
	if l.mixed = said.mix > 0 && !l.udp; l.mixed {
		l.reads = uint64(said.mix) - 1
	}
	l.threads = min(l.threads, l.flows)
	return l
}

// streamListener takes the connections of one sender. The first session to be complete
// wins.
type streamListener struct {
	load  load
	door  *lobby.Doorman
	ready chan session

	mu    sync.Mutex
	done  bool
	lobby lobby.Lobby[sizes, net.Conn]
}

func listenStreams(ctx context.Context, l load, address string) (listener, error) {
	socket, err := lobby.Listen(ctx, address, l.control())
	if err != nil {
		return nil, err
	}
	ln := &streamListener{load: l, door: lobby.NewDoorman(socket, mostGreeting, connectTimeout), ready: make(chan session, 1)}
	ln.door.Open(helloSize, ln.greet, ln.lack)
	return ln, nil
}

func (ln *streamListener) address() string         { return ln.door.Address().String() }
func (ln *streamListener) session() <-chan session { return ln.ready }

// greet lets a connection join its session, or closes it.
func (ln *streamListener) greet(b []byte, conn net.Conn) {
	h, err := decodeHello(b)
	if err != nil {
		conn.Close()
		return
	}
	if status := ln.join(h, conn); status != welcome {
		b := answer{Status: status, Index: h.Index}.encode()
		conn.Write(b[:])
		conn.Close()
	}
}

// lack tells a sender, at the connections that have come, that there is no file for all of them.
func (ln *streamListener) lack(b []byte, conn net.Conn) {
	conns := []net.Conn{conn}
	if h, err := decodeHello(b); err == nil {
		ln.mu.Lock()
		conns = append(conns, ln.lobby.TurnAway(h.Token)...)
		ln.mu.Unlock()
		for _, c := range conns {
			b := answer{Status: noFiles}.encode()
			c.Write(b[:])
		}
	}
	closeConns(conns)
}

// join adds a connection to its session and, when it was the last one, hands the
// session over. A welcome is answered only then.
func (ln *streamListener) join(h hello, conn net.Conn) (status uint16) {
	if h.Version != version {
		return otherVersion
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	switch {
	case ln.done || h.Purpose != greets:
		return otherSession
	case ln.lobby.TurnedAway(h.Token): // for want of files: see lack
		return noFiles
	}
	g, gone := ln.lobby.Join(h.Token, h.sizes(), int(h.Index), int(h.Total), conn)
	closeConns(gone)
	if g == nil {
		return otherSession
	}
	if g.Complete() {
		ln.complete(g)
	}
	return welcome
}

// complete ends the listening and answers the winner. A flow that broke meanwhile
// is found by the run.
func (ln *streamListener) complete(winner *lobby.Group[sizes, net.Conn]) {
	ln.shut(winner)
	for i, conn := range winner.Flows {
		b := answer{Status: welcome, Index: uint32(i)}.encode()
		conn.SetDeadline(time.Now().Add(handshakeTimeout))
		conn.Write(b[:])
		conn.SetDeadline(time.Time{})
	}
	ln.ready <- session{ln.load.of(winner.About, len(winner.Flows)), &ends{token: winner.Token, conns: winner.Flows}}
}

// shut stops listening and closes every connection but the kept group's. The
// caller holds the lock.
func (ln *streamListener) shut(kept *lobby.Group[sizes, net.Conn]) {
	ln.done = true
	ln.door.Shut()
	closeConns(ln.lobby.Clear(kept))
}

// close stops listening, waits for the handlers, and closes the sockets that
// nobody took.
func (ln *streamListener) close() {
	ln.mu.Lock()
	if !ln.done {
		ln.shut(nil)
	}
	ln.mu.Unlock()
	ln.door.Wait()
	select {
	case s := <-ln.ready:
		s.ends.close()
	default:
	}
}

func closeConns(conns []net.Conn) {
	for _, c := range conns {
		c.Close()
	}
}
