package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	sockets sockets
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
	return &flood{threads: make([]ThreadOutcome, h.server.count()), last: time.Now(), sockets: sockets{heard: map[socket]bool{}}}
}

// flooding is the newest UDP session of a host whose test is not over.
func (h *hall) flooding(from netip.Addr) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found *session
	for _, s := range h.sessions {
		if s.from == from && s.flood != nil && !s.ended() && !h.vacated[s.id] && (found == nil || s.id > found.id) {
			found = s
		}
	}
	return found
}

// underWay is how long datagrams of a test may be on their way when its host asks for the next one.
const underWay = 100 * time.Millisecond

// endFlood ends a host's session without a caller, once that is quiet: a sender that asks begins another test, of which
// its datagrams tell nothing, and the time between is neither's. One that is not quiet soon is of another sender.
func (h *hall) endFlood(ctx context.Context, from netip.Addr) {
	s := h.flooding(from)
	if s == nil || s.fleet != nil {
		return
	}
	for began := time.Now(); time.Since(s.flood.lastSeen()) <= underWay; {
		if time.Since(began) > 2*underWay || sleep(ctx, drainTick) != nil {
			return
		}
	}
	h.vacate(s)
	s.leave()
	s.ending.Do(func() { close(s.over) })
}

// isFullFor tells a caller whether there is no seat. That of a test of its own host, of whose end nothing tells, is free.
func (h *hall) isFullFor(ctx context.Context, from netip.Addr) bool {
	if !h.full() {
		return false
	}
	h.endFlood(ctx, from)
	return h.full()
}

// refusalPause is how often refused datagrams are told of.
const refusalPause = time.Second

// readDatagrams counts what comes to one port, for the session that was its host's
// newest when the sending socket was first heard. Two datagrams of a host that has
// none begin one without sync.
func (h *hall) readDatagrams(ctx context.Context, thread int, socket *net.UDPConn) {
	b := make([]byte, 1<<16)
	var s *session
	var last netip.AddrPort
	senders := map[netip.AddrPort]*session{}
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
		if peer != last {
			s, last = senders[peer], peer
		}
		if s != nil && s.straggles() {
			h.hadEnough(from) // it is not silent
			continue
		}
		if s == nil || s.ended() {
			if s = h.flooding(from); s != nil {
				s.remember(senders, thread, peer)
			}
		}
		first, known := strangers.meet(from, n, s != nil)
		if s == nil && known {
			if s = h.beginFlood(ctx, peer, &strangers); s != nil {
				s.flood.add(thread, first, time.Now())
				s.remember(senders, thread, peer)
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
	if h.hadEnough(host) {
		if strangers.mayRefuse() {
			h.refuse(host, fmt.Sprintf("it has had what one client may have: its datagrams count again after %s of silence", udpSilence))
		}
		return nil
	}
	says := string(h.toolOf(host)) + ", UDP"
	s := &session{from: host, client: netip.AddrPortFrom(host, from.Port()).String(), tool: h.toolOf(host), began: time.Now(), over: make(chan struct{}), flood: h.newFlood()}
	if err := h.register(s); err != nil {
		if strangers.mayRefuse() {
			h.refuse(host, err.Error())
		}
		return nil
	}
	h.begin(ctx, s, says)
	return s
}

// remember keeps the session of a sending socket, of at most so many at once.
func (s *session) remember(senders map[netip.AddrPort]*session, thread int, peer netip.AddrPort) {
	if len(senders) >= maxSenders {
		clear(senders)
	}
	senders[peer] = s
	s.flood.hear(socket{thread, peer}, time.Now())
}

// maxSenders are the sending sockets that a port tells apart.
const maxSenders = 1 << 12

// noteSpent remembers the host of a session by UDP that ended at a bound, and when it was last heard.
func (h *hall) noteSpent(s *session) {
	if !s.spent || s.flood == nil || s.fleet != nil && s.flood.count().calls == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.spent, func(_ netip.Addr, last time.Time) bool { return time.Since(last) > udpSilence })
	if len(h.spent) < maxStrangers {
		h.spent[s.from] = s.flood.lastSeen()
	}
}

// hadEnough tells whether a host's last session ended at a bound and the host goes
// on sending: nothing else separates one test by UDP from the next.
func (h *hall) hadEnough(host netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, known := h.spent[host]
	if known && time.Since(last) > udpSilence {
		delete(h.spent, host)
		return false
	}
	if known {
		h.spent[host] = time.Now()
	}
	return known
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
