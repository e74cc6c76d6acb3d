package ping

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"net"
	"net/netip"
	"sync"
	"time"

	"windtunnel/traffic/lobby"
)

// udpGroup is the flows of a sender, by their addresses.
type udpGroup = lobby.Group[sizes, netip.AddrPort]

// greeter is a UDP receiver before its engine. It introduces the flows of one sender,
// repeats what was lost, and answers requests that come early. Then, where the system
// can (splitsFlows), each flow has a socket of its own, connected to its peer; else
// the greeter stays the engine's responder.
type greeter struct {
	socket *net.UDPConn
	ready  chan session
	secret [sha256.Size]byte
	serves sync.WaitGroup
	seen   responderCounts // what it did as a responder

	mu     sync.Mutex // of what follows
	load   load       // with the sender's sizes, once there is a session
	conns  []net.Conn // one a flow
	lobby  lobby.Lobby[sizes, netip.AddrPort]
	winner *udpGroup // nil until a session is complete
	served map[netip.AddrPort]bool
	ended  map[netip.AddrPort]bool
	reply  []byte
}

func listenDatagrams(ctx context.Context, l load, address string) (listener, error) {
	config := net.ListenConfig{Control: l.control()}
	socket, err := config.ListenPacket(ctx, "udp", address)
	if err != nil {
		return nil, err
	}
	g := &greeter{load: l, socket: socket.(*net.UDPConn), ready: make(chan session, 1), served: map[netip.AddrPort]bool{}, ended: map[netip.AddrPort]bool{}}
	rand.Read(g.secret[:])
	g.serves.Go(func() {
		if g.serve(g.split); g.split() {
			g.socket.SetReadDeadline(time.Now().Add(drainTime))
			g.serve(func() bool { return false })
			// What strangers send there costs the measured threads nothing: see watch.
			g.socket.SetReadBuffer(strangersBuffer)
		}
	})
	return g, nil
}

// drainTime is how long a datagram may be on its way to the one socket while the
// flow's own is made.
const drainTime = 2 * time.Millisecond

func (g *greeter) address() string         { return g.socket.LocalAddr().String() }
func (g *greeter) session() <-chan session { return g.ready }

func (g *greeter) split() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.conns != nil
}

// serve answers datagrams until an error (a passed deadline, a closed socket) or
// until enough says so.
func (g *greeter) serve(enough func() bool) {
	b := make([]byte, maxDatagram+1)
	for !enough() {
		n, from, err := g.socket.ReadFromUDPAddrPort(b)
		if err != nil && !refusedByPeer(err) { // some systems tell the next reader that an answer reached nobody
			return
		}
		if err == nil {
			g.handle(b[:n], from, func(b []byte) error { _, err := g.socket.WriteToUDPAddrPort(b, from); return err })
		}
	}
}

// tend answers one flow's own socket until an engine takes it over.
func (g *greeter) tend(conn net.Conn, from netip.AddrPort) {
	b := make([]byte, maxDatagram+1)
	for {
		n, err := conn.Read(b)
		if err != nil {
			return
		}
		g.handle(b[:n], from, func(b []byte) error { _, err := conn.Write(b); return err })
	}
}

// pause stops all goroutines; the sockets stay open, and what waits in them too.
func (g *greeter) pause() {
	g.mu.Lock()
	conns := g.conns
	g.mu.Unlock()
	g.socket.SetReadDeadline(time.Unix(1, 0))
	for _, c := range conns {
		c.SetReadDeadline(time.Unix(1, 0))
	}
	g.serves.Wait()
}

// handle answers one datagram.
func (g *greeter) handle(b []byte, from netip.AddrPort, reply func([]byte) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, err := decodeHello(b)
	if err != nil {
		g.respond(b, from, reply)
		return
	}
	if h.Purpose == moves && !g.isOf(h) {
		return
	}
	a := answer{Index: h.Index, Cookie: g.cookie(h.Token, from)}
	switch {
	case h.Version != version:
		a.Status = otherVersion
	case !hmac.Equal(h.Cookie[:], a.Cookie[:]):
		a.Status = challenge
	case h.Purpose == farewell:
		a.Status = g.part(h, from)
	case h.Purpose == moves:
		a.Status = g.move(h, from)
	default:
		a.Status = g.join(h, from)
	}
	say := a.encode()
	reply(say[:]) // a lost answer is asked for again
}

// cookie proves an address: only who receives there can know it.
func (g *greeter) cookie(session token, from netip.AddrPort) (c token) {
	sum := hmac.New(sha256.New, g.secret[:])
	sum.Write(session[:])
	address, _ := from.MarshalBinary()
	sum.Write(address)
	copy(c[:], sum.Sum(nil))
	return c
}

// part ends a flow of the session.
func (g *greeter) part(h hello, from netip.AddrPort) (status uint16) {
	if g.winner == nil || g.winner.Token != h.Token || !g.served[from] {
		return otherSession
	}
	g.ended[from] = true
	return goodbye
}

// deserted tells that every flow of the session has ended.
func (g *greeter) deserted() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.winner != nil && len(g.ended) == len(g.served)
}

// join adds a flow to its session. A repeated hello is answered as the first was.
func (g *greeter) join(h hello, from netip.AddrPort) (status uint16) {
	if g.winner != nil {
		if g.winner.Token != h.Token || !g.winner.In(int(h.Index)) || g.winner.Flows[h.Index] != from {
			return otherSession
		}
		return welcome
	}
	if waiting := g.lobby.Find(h.Token); waiting != nil && waiting.In(int(h.Index)) && waiting.Flows[h.Index] == from {
		return joined
	}
	in, _ := g.lobby.Join(h.Token, h.sizes(), int(h.Index), int(h.Total), from)
	switch {
	case in == nil:
		return otherSession
	case !in.Complete():
		return joined
	}
	return g.complete(in)
}

// complete makes the flows' sockets before the last flow is welcome: nothing but
// hellos is on its way then, so nothing gets into another flow's socket.
func (g *greeter) complete(winner *udpGroup) (status uint16) {
	g.lobby.Clear(winner)
	conns, err := splitFlows(g.load, g.socket, winner.Flows)
	if lobby.NoFiles(err) {
		return noFiles
	}
	if err != nil {
		return noSockets
	}
	g.winner, g.load, g.conns = winner, g.load.of(winner.About, len(winner.Flows)), conns
	g.reply = make([]byte, g.load.response)
	fillPattern(g.reply)
	for i, peer := range winner.Flows {
		g.served[peer] = true
		b := answer{Status: welcome, Index: uint32(i)}.encode()
		g.socket.WriteToUDPAddrPort(b[:], peer)
		if conns != nil {
			g.serves.Go(func() { g.tend(conns[i], peer) })
		}
	}
	g.ready <- session{g.load, &ends{token: winner.Token, conns: conns, datagram: g}}
	return welcome
}

// respond answers a request of the session; what is none is passed over.
func (g *greeter) respond(b []byte, from netip.AddrPort, reply func([]byte) error) {
	if !g.served[from] {
		return
	}
	if len(b) != g.load.message {
		g.seen.corrupt.Add(1)
		return
	}
	copy(g.reply[:min(numberedSize, len(g.reply))], b)
	g.seen.requests.Add(1)
	g.seen.bytes.Add(uint64(len(b)))
	if err := reply(g.reply); err != nil {
		g.seen.refused.Add(1)
	}
}

func (g *greeter) close() {
	g.socket.Close()
	g.mu.Lock()
	closeConns(g.conns)
	g.mu.Unlock()
	g.serves.Wait()
}
