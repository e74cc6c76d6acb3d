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

// expectDatagrams begins a UDP session.
func (h *hall) expectDatagrams(ctx context.Context, from netip.Addr, says string, total time.Duration) (*session, error) {
	s := &session{
		from: from, client: from.String(), began: time.Now(), total: total, over: make(chan struct{}),
		flood: &flood{threads: make([]ThreadOutcome, h.server.count())},
	}
	if err := h.register(s); err != nil {
		return nil, err
	}
	h.begin(ctx, s, says+", UDP")
	return s, nil
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
		from := peer.Addr().Unmap().WithZone("")
		if s == nil || s.from != from || s.ended() {
			s = h.flooding(from)
		}
		if s == nil && strangers.seen(from) {
			s = h.beginFlood(ctx, from, &strangers)
		}
		if s != nil {
			s.flood.add(thread, n, time.Now())
		}
	}
}

func (h *hall) beginFlood(ctx context.Context, from netip.Addr, strangers *strangers) *session {
	says := "without sync"
	if h.arrived(from) {
		says = "NTttcp for Windows"
	}
	h.floodGate.Lock() // two ports of one sender begin one session
	defer h.floodGate.Unlock()
	if s := h.flooding(from); s != nil {
		return s
	}
	s, err := h.expectDatagrams(ctx, from, says, 0)
	if err != nil && strangers.mayRefuse() {
		h.refuse(from, err.Error())
	}
	return s
}

// strangers remembers hosts that sent a datagram and have no session, few of them.
type strangers struct {
	hosts   map[netip.Addr]bool
	refused time.Time
}

const maxStrangers = 256

// seen tells whether the host has sent one before.
func (s *strangers) seen(from netip.Addr) bool {
	if s.hosts[from] {
		return true
	}
	if s.hosts == nil || len(s.hosts) >= maxStrangers {
		s.hosts = map[netip.Addr]bool{}
	}
	s.hosts[from] = true
	return false
}

// mayRefuse bounds how often refused datagrams are told of.
func (s *strangers) mayRefuse() bool {
	if time.Since(s.refused) < refusalPause {
		return false
	}
	s.refused = time.Now()
	return true
}
