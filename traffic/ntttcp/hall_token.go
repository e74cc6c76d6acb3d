package ntttcp

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"
)

// serveToken answers a token of NTttcp for Windows. Its sender opens all data
// connections before the first token, and sends when it has the last one back: its
// session begins before that, as the next sender of the host may come right after.
func (h *hall) serveToken(ctx context.Context, thread int, conn net.Conn) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	from := remoteIP(conn)
	conn.SetDeadline(time.Now().Add(tokenPatience))
	if takeToken(conn) != nil {
		return
	}
	h.endFlood(ctx, from)
	if h.full() {
		h.refuse(from, errFull.Error())
		closeGuests(h.lobby.claim(func(g guest) bool { return g.from == from }))
		return
	}
	h.mu.Lock()
	a := h.arrival(from)
	a.tokens[thread] = time.Now()
	delete(a.taken, thread)
	h.mu.Unlock()
	h.doubtToken(from, thread)
	if h.hasAllTokens(from) {
		h.startArrival(ctx, from)
	}
	giveToken(conn)
}

// hasAllTokens tells whether a host has sent one for each of its connections; a
// host without connections sends UDP and is heard by its datagrams.
func (h *hall) hasAllTokens(from netip.Addr) bool {
	var its []guest
	for _, g := range h.lobby.present() {
		if g.from == from && !g.look.offered.Load() {
			its = append(its, g)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.arriving[from]
	return a != nil && len(its) > 0 && !slices.ContainsFunc(its, func(g guest) bool { return a.tokens[g.thread].Before(g.came) })
}

func (h *hall) startArrival(ctx context.Context, from netip.Addr) {
	theirs, mixed := h.arrivals(from)
	guests := h.lobby.claim(func(g guest) bool { return theirs[g] })
	if len(guests) == 0 {
		return
	}
	h.takeTokens(from, guests)
	if s := h.youngest(from, func(s *session) bool { return s.tool == forWindows }); s != nil && !s.has(guests) {
		h.join(s, guests)
		return
	}
	if s := h.receive(ctx, guests, true, forWindows); s != nil && mixed {
		s.doubt("a sender of %s opened its connections to the same ports at the same time: which of them are whose is not known", forLinux)
	}
}

func closeGuests(guests []guest) {
	for _, g := range guests {
		g.conn.Close()
	}
}
