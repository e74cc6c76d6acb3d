package ping

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"windtunnel/traffic"
)

const (
	// maxSessions bounds the senders that are let wait for their last flow; the
	// oldest makes way.
	maxSessions = 16
	// mostGreeting is how many connections may be unidentified at once.
	mostGreeting = maxFlows + 64
)

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
		ln, err = listenDatagrams(ctx, l, bindAddress(order.Address))
	} else {
		ln, err = listenStreams(ctx, l, bindAddress(order.Address))
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", order.Address, err)
	}
	return newWorker(l, order, nil, ln), nil
}

// bindAddress takes an IP, or an IP:port where the caller wants the port.
func bindAddress(address string) string {
	if _, err := netip.ParseAddrPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, "0")
}

// of is the receiver's load with what the sender said of its own.
func (l load) of(h hello) load {
	l.message, l.response, l.flows = int(h.Message), int(h.Response), int(h.Total)
	l.threads = min(l.threads, l.flows)
	return l
}

// lobby are the sessions that wait for their last flow; F is how one is reached.
type lobby[F any] struct{ groups []*group[F] } // oldest first

type group[F any] struct {
	hello hello // of its first flow
	flows []F
	in    []bool
	count int
}

// join adds a flow; it returns the group, nil if the flow contradicts it, and the
// flows of a group that had to make way.
func (y *lobby[F]) join(h hello, flow F) (g *group[F], gone []F) {
	i := slices.IndexFunc(y.groups, func(g *group[F]) bool { return g.hello.Token == h.Token })
	if i < 0 {
		if len(y.groups) == maxSessions {
			gone = y.groups[0].present()
			y.groups = y.groups[1:]
		}
		y.groups = append(y.groups, &group[F]{hello: h, flows: make([]F, h.Total), in: make([]bool, h.Total)})
		i = len(y.groups) - 1
	}
	g = y.groups[i]
	if g.hello.Total != h.Total || g.hello.Message != h.Message || g.hello.Response != h.Response || g.in[h.Index] {
		return nil, gone
	}
	g.flows[h.Index], g.in[h.Index] = flow, true
	g.count++
	return g, gone
}

func (g *group[F]) complete() bool { return g.count == len(g.flows) }

// present are the flows that have come.
func (g *group[F]) present() []F {
	var all []F
	for i, flow := range g.flows {
		if g.in[i] {
			all = append(all, flow)
		}
	}
	return all
}

// doorman accepts the connections of one sender. The first session to be complete
// wins; then nothing listens any more, so that a foreign connection costs the
// measured threads nothing.
type doorman struct {
	load     load
	socket   *net.TCPListener
	ready    chan session
	handlers sync.WaitGroup

	mu       sync.Mutex
	done     bool
	greeting map[net.Conn]struct{}
	lobby    lobby[net.Conn]
}

func listenStreams(ctx context.Context, l load, address string) (listener, error) {
	config := net.ListenConfig{Control: l.control(), KeepAlive: -1}
	config.SetMultipathTCP(false)
	socket, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	d := &doorman{load: l, socket: socket.(*net.TCPListener), ready: make(chan session, 1), greeting: map[net.Conn]struct{}{}}
	d.handlers.Go(d.accept)
	return d, nil
}

func (d *doorman) address() string         { return d.socket.Addr().String() }
func (d *doorman) session() <-chan session { return d.ready }

func (d *doorman) accept() {
	for {
		conn, err := d.socket.AcceptTCP()
		if err != nil {
			return // closed, or out of descriptors: then no session gets complete, and Run says so
		}
		if !d.admit(conn) {
			conn.Close()
			continue
		}
		d.handlers.Go(func() { d.greet(conn) })
	}
}

// admit counts a connection among those that have yet to introduce themselves.
func (d *doorman) admit(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done || len(d.greeting) >= mostGreeting {
		return false
	}
	d.greeting[conn] = struct{}{}
	conn.SetDeadline(time.Now().Add(handshakeTimeout)) // under the lock: shut shortens it
	return true
}

// greet reads one hello and lets the connection join its session, or closes it.
func (d *doorman) greet(conn net.Conn) {
	var b [helloSize]byte
	_, err := io.ReadFull(conn, b[:])
	d.mu.Lock()
	delete(d.greeting, conn)
	d.mu.Unlock()
	if err != nil {
		conn.Close()
		return
	}
	h, err := decodeHello(b[:])
	if err != nil {
		conn.Close()
		return
	}
	if status := d.join(h, conn); status != welcome {
		b := answer{Status: status, Index: h.Index}.encode()
		conn.Write(b[:])
		conn.Close()
	}
}

// join adds a connection to its session and, when it was the last one, hands the
// session over. A welcome is answered only then.
func (d *doorman) join(h hello, conn net.Conn) (status uint16) {
	if h.Version != version {
		return otherVersion
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done || h.Purpose != greets {
		return otherSession
	}
	g, gone := d.lobby.join(h, conn)
	closeConns(gone)
	if g == nil {
		return otherSession
	}
	if g.complete() {
		d.complete(g)
	}
	return welcome
}

// complete ends the listening and answers the winner. A flow that broke meanwhile
// is found by the run.
func (d *doorman) complete(winner *group[net.Conn]) {
	d.shut(winner)
	for i, conn := range winner.flows {
		b := answer{Status: welcome, Index: uint32(i)}.encode()
		conn.Write(b[:])
		conn.SetDeadline(time.Time{})
	}
	d.ready <- session{d.load.of(winner.hello), &ends{token: winner.hello.Token, conns: winner.flows}}
}

// shut stops listening and closes every connection but the kept group's. The
// caller holds the lock.
func (d *doorman) shut(kept *group[net.Conn]) {
	d.done = true
	d.socket.Close()
	for conn := range d.greeting {
		conn.SetDeadline(time.Unix(1, 0))
	}
	for _, g := range d.lobby.groups {
		if g != kept {
			closeConns(g.present())
		}
	}
	d.lobby.groups = nil
}

// close stops listening, waits for the handlers, and closes the sockets that
// nobody took.
func (d *doorman) close() {
	d.mu.Lock()
	if !d.done {
		d.shut(nil)
	}
	d.mu.Unlock()
	d.handlers.Wait()
	select {
	case s := <-d.ready:
		s.ends.close()
	default:
	}
}

func closeConns(conns []net.Conn) {
	for _, c := range conns {
		c.Close()
	}
}
