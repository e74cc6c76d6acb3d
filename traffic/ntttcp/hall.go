package ntttcp

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	"windtunnel/traffic"
	meeting "windtunnel/traffic/lobby"
)

// hall is a running server: the lobby of its data ports, and the sessions.
type hall struct {
	server    Server
	config    traffic.ServerConfig
	addresses []string
	lobby     *lobby
	listeners []net.Listener // sync and token ports
	shared    []int          // the data ports that are handed out (-sp): all that are whole but the first
	sockets   []*net.UDPConn
	spare     *meeting.Spare
	accepting sync.WaitGroup
	handlers  chan struct{} // a token for each connection that is heard
	telling   sync.Mutex    // held during Event

	floodGate sync.Mutex // held while a UDP session begins

	mu        sync.Mutex
	sessions  map[uint64]*session
	vacated   map[uint64]bool          // of those, whose test is over: what is under way is still theirs, and no seat
	spent     map[netip.Addr]time.Time // hosts whose UDP session ended at a bound, and when they were last heard
	heard     map[netip.Addr]int       // sync and token connections of a host
	next      uint64
	hosting   sync.WaitGroup
	arriving  map[netip.Addr]*arrival
	mixed     map[netip.Addr]time.Time     // when a token's connection was last taken out of several of its host
	preparing map[netip.Addr]chan struct{} // closed when the host's caller has started or left

	toldOfCrowd time.Time // when one too many of those that are heard was told of
}

// arrival is a host whose sender synchronises as NTttcp for Windows, or asks for
// its ports.
type arrival struct {
	tokens  map[int]time.Time // when a thread's token came
	taken   map[int]bool      // those that have their connection
	offered int               // ports handed out (-sp)
	last    time.Time
}

const (
	// porterEvery is how often unclaimed connections are looked at, while there
	// are any.
	porterEvery = 10 * time.Millisecond
	// rareLook is how often one is looked at that has long been silent: thousands of
	// them would take the CPU from those who are measured.
	rareLook = 500 * time.Millisecond
	// guestPatience is how long a connection may be silent and unclaimed.
	guestPatience = time.Minute
	// offerAfter is how long a lone connection to the first port is silent before
	// it is taken for a sender with -sp, which waits for its port there. A sender
	// that is something else does not read what it is sent.
	offerAfter = time.Second
	// joinWithin is how long a session takes further connections of its host.
	joinWithin = 5 * time.Second
	// queued is how long one does whose sender has said that all of them stand: they
	// may still lie in the accept queue. Later ones are another test's.
	queued = time.Second
)

func newHall(s Server, config traffic.ServerConfig) *hall {
	files := mostFiles()
	files -= filesOfAPort * s.affords(files)
	h := &hall{
		server: s, config: config, lobby: newLobby(mostGuests(files, files)), // of others' files nothing is known
		handlers: make(chan struct{}, maxHandlers), sessions: map[uint64]*session{}, vacated: map[uint64]bool{},
		spent: map[netip.Addr]time.Time{}, heard: map[netip.Addr]int{},
		arriving: map[netip.Addr]*arrival{}, mixed: map[netip.Addr]time.Time{}, preparing: map[netip.Addr]chan struct{}{},
	}
	h.spare = meeting.NewSpare()
	h.lobby.crowded = func(out netip.Addr) { h.refuse(out, h.lobby.crowdSays()) }
	return h
}

// run is the porter: it looks at who waits in the lobby until ctx ends.
func (h *hall) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.lobby.changed:
		}
		for h.look(ctx) {
			if sleep(ctx, porterEvery) != nil {
				return
			}
		}
	}
}

// look deals with every guest once and tells whether any is left.
func (h *hall) look(ctx context.Context) bool {
	h.forget()
	var talking []guest
	waiting := 0
	now := time.Now()
	for _, g := range h.lobby.claim(func(g guest) bool {
		waiting++
		return g.isDue(now) && gone(g.conn) || now.Sub(g.came) > guestPatience
	}) {
		waiting--
		g.conn.Close()
	}
	for _, g := range h.lobby.present() {
		if !g.isDue(now) {
			continue
		}
		g.look.next = now.Add(min(now.Sub(g.came)/2, rareLook))
		if speaks(g.conn) {
			talking = append(talking, g)
		} else if len(h.shared) > 0 && h.asksForPort(g) {
			h.offer(g)
		}
	}
	left := waiting > len(talking)
	for _, g := range talking {
		left = h.receiveFrom(ctx, g.from) || left
	}
	return left
}

// receiveFrom begins a session without sync for a host whose data has come, or
// lets its connections join the one that has just begun; true: they have to wait for
// others that may come.
func (h *hall) receiveFrom(ctx context.Context, from netip.Addr) (wait bool) {
	for _, outside := range []bool{false, true} {
		s := h.youngest(from, func(s *session) bool { return !outside || s.tool != forLinux })
		if s != nil && s.fleet.gathers() > 0 {
			wait = true
			continue
		}
		guests := h.lobby.claim(func(g guest) bool { return g.from == from && g.look.outside.Load() == outside && speaks(g.conn) })
		h.takeTokens(from, guests)
		switch {
		case len(guests) == 0: // with an earlier one of the same host
		case s != nil:
			h.join(s, guests)
		default:
			h.receive(ctx, guests, false, h.toolOf(from))
		}
	}
	return wait
}

// join lets connections into a session that has begun.
func (h *hall) join(s *session, guests []guest) {
	s.doubtLate(guests)
	if err := s.fleet.add(toDialled(guests)); err != nil {
		h.refuse(s.from, err.Error())
	}
}

// toolOf says what is known of a host that began to send.
func (h *hall) toolOf(from netip.Addr) tool {
	if h.arrived(from) {
		return forWindows
	}
	return eitherTool
}

func (h *hall) arrived(from netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.arriving[from]
	return a != nil && len(a.tokens) > 0
}

// asksForPort tells a sender with -sp by its silence.
func (h *hall) asksForPort(g guest) bool {
	if g.thread != 0 || time.Since(g.came) < offerAfter {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.preparing[g.from] == nil && !h.arriving[g.from].syncs(g) && !g.look.offered.Load()
}

// syncs tells whether a token came behind a connection, so that its sender has opened all and waits for the others. Those
// from before are of an earlier test of the host.
func (a *arrival) syncs(g guest) bool {
	if a != nil {
		for _, came := range a.tokens {
			if !came.Before(g.came) {
				return true
			}
		}
	}
	return false
}

// offer hands the next data port of a host out.
func (h *hall) offer(g guest) {
	h.mu.Lock()
	a := h.arrival(g.from)
	a.offered++
	port := h.shared[(a.offered-1)%len(h.shared)]
	h.mu.Unlock()
	g.look.offered.Store(true)
	b := encodePort(port)
	g.conn.SetWriteDeadline(time.Now().Add(replyPatience))
	g.conn.Write(b[:])
	g.conn.SetWriteDeadline(time.Time{})
}

// arrival is a host's, made where it has none. The caller holds the lock.
func (h *hall) arrival(from netip.Addr) *arrival {
	a := h.arriving[from]
	if a == nil {
		a = &arrival{tokens: map[int]time.Time{}, taken: map[int]bool{}}
		h.arriving[from] = a
	}
	a.last = time.Now()
	return a
}

// forget drops hosts that were heard of long ago.
func (h *hall) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for from, a := range h.arriving {
		if time.Since(a.last) > guestPatience {
			delete(h.arriving, from)
		}
	}
	maps.DeleteFunc(h.mixed, func(_ netip.Addr, at time.Time) bool { return time.Since(at) > guestPatience })
}

func (h *hall) close() {
	for _, listener := range h.listeners {
		listener.Close()
	}
	for _, socket := range h.sockets {
		socket.Close()
	}
	h.lobby.close()
	h.accepting.Wait()
	h.spare.Close()
	h.hosting.Wait()
}
