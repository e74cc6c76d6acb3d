package ntttcp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// flood is what has come from one host by UDP. Datagrams of either tool carry
// nothing to tell two senders of one host apart by.
type flood struct {
	mu      sync.Mutex
	threads []ThreadOutcome
	last    time.Time
}

func (f *flood) add(thread, bytes int, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.threads[thread].Bytes += uint64(bytes)
	f.threads[thread].Calls++
	f.last = at
}

func (f *flood) count() tally {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := tally{at: time.Now(), threads: append([]ThreadOutcome(nil), f.threads...)}
	for _, thread := range f.threads {
		sum.bytes += thread.Bytes
		sum.calls += thread.Calls
	}
	return sum
}

func (f *flood) lastSeen() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (h *hall) newFlood() *flood {
	return &flood{threads: make([]ThreadOutcome, h.server.count()), last: time.Now()}
}

// flooding is the UDP session of a host.
func (h *hall) flooding(from netip.Addr) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found *session
	for _, s := range h.sessions {
		if s.from == from && s.flood != nil && (found == nil || s.id > found.id) {
			found = s
		}
	}
	return found
}

// refusalPause is how often refused datagrams are told of.
const refusalPause = time.Second

// readDatagrams counts what comes to one port, for the session of its host. Two
// datagrams of a host that has none begin one without sync.
func (h *hall) readDatagrams(ctx context.Context, thread int, socket *net.UDPConn) {
	b := make([]byte, 1<<16)
	var s *session
	var strangers strangers
	for {
		n, peer, err := socket.ReadFromUDPAddrPort(b)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			continue // a peer's port that is closed is told here by some systems
		}
		from := hostOf(peer)
		if s == nil || s.from != from || s.ended() {
			s = h.flooding(from)
		}
		first, known := strangers.meet(from, n, s != nil)
		if s == nil && known {
			if s = h.beginFlood(ctx, peer, &strangers); s != nil {
				s.flood.add(thread, first, time.Now())
			}
		}
		if s != nil {
			s.flood.add(thread, n, time.Now())
		}
	}
}

// beginFlood begins a session of a host that sends UDP without a caller.
func (h *hall) beginFlood(ctx context.Context, from netip.AddrPort, strangers *strangers) *session {
	host := hostOf(from)
	h.floodGate.Lock() // two ports of one sender begin one session
	defer h.floodGate.Unlock()
	if s := h.flooding(host); s != nil {
		return s
	}
	says := h.toolOf(host) + ", UDP"
	s := &session{from: host, client: from.String(), began: time.Now(), over: make(chan struct{}), flood: h.newFlood()}
	if err := h.register(s); err != nil {
		if strangers.mayRefuse() {
			h.refuse(host, err.Error())
		}
		return nil
	}
	h.begin(ctx, s, says)
	return s
}

func hostOf(at netip.AddrPort) netip.Addr { return at.Addr().Unmap().WithZone("") }

// strangers remembers hosts that sent one datagram and have no session, and its
// bytes. They are few.
type strangers struct {
	hosts   map[netip.Addr]int
	refused time.Time
}

const maxStrangers = 256

// meet tells whether a host has sent a datagram before, and how long it was.
func (s *strangers) meet(from netip.Addr, bytes int, hasSession bool) (first int, known bool) {
	if hasSession {
		return 0, false
	}
	if first, known = s.hosts[from]; known {
		delete(s.hosts, from)
		return first, true
	}
	if s.hosts == nil || len(s.hosts) >= maxStrangers {
		s.hosts = map[netip.Addr]int{}
	}
	s.hosts[from] = bytes
	return 0, false
}

// mayRefuse bounds how often refused datagrams are told of.
func (s *strangers) mayRefuse() bool {
	if time.Since(s.refused) < refusalPause {
		return false
	}
	s.refused = time.Now()
	return true
}
