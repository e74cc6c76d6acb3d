package ping

import (
	"crypto/hmac"
	"net/netip"
	"time"
)

// What strangers may cost a receiver whose flows have sockets of their own: so many bytes of its first socket's buffer, and so many
// of their datagrams read until a pause.
const (
	strangersBuffer = 64 << 10
	strangersAtOnce = 32
	strangersPause  = 50 * time.Millisecond
)

// isOf tells whether a hello is of the session's: of whoever knows its token.
func (g *greeter) isOf(h hello) bool {
	return g.winner != nil && h.Version == version && hmac.Equal(g.winner.Token[:], h.Token[:]) && g.winner.In(int(h.Index))
}

// move takes a flow of the one socket to where it says hello from. The caller has seen that it is the session's, and its cookie, and holds the lock.
func (g *greeter) move(h hello, from netip.AddrPort) (status uint16) {
	if g.conns != nil { // which watch connects
		return otherSession
	}
	delete(g.served, g.winner.Flows[h.Index])
	g.winner.Flows[h.Index], g.served[from] = from, true
	return welcome
}

// watch hears flows that have moved, on the first socket, until close: each flow's own hears its peer alone. Connect has a flow's socket
// hear another one. Only who knows the session's token has an answer.
func (g *greeter) watch(connect func(flow int, to netip.AddrPort) error) {
	g.socket.SetReadDeadline(time.Time{})
	g.serves.Go(func() {
		b := make([]byte, helloSize+1)
		for strange := 1; ; {
			n, from, err := g.socket.ReadFromUDPAddrPort(b)
			if err != nil && !refusedByPeer(err) {
				return
			}
			if err == nil && g.hearMoved(b[:n], from, connect) {
				continue
			}
			if strange++; strange%strangersAtOnce == 0 {
				time.Sleep(strangersPause)
			}
		}
	})
}

// hearMoved answers a flow that has moved; false: it is a stranger's.
func (g *greeter) hearMoved(b []byte, from netip.AddrPort, connect func(flow int, to netip.AddrPort) error) bool {
	h, err := decodeHello(b)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil || h.Purpose != moves || !g.isOf(h) {
		return false
	}
	a := answer{Status: welcome, Index: h.Index, Cookie: g.cookie(h.Token, from)}
	if !hmac.Equal(h.Cookie[:], a.Cookie[:]) {
		a.Status = challenge
	} else if connect(int(h.Index), from) != nil {
		return false
	}
	say := a.encode()
	g.socket.WriteToUDPAddrPort(say[:], from) // a lost answer is asked for again
	return true
}
