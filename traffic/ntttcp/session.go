package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// session is one sender's test at a server.
type session struct {
	id     uint64
	from   netip.Addr
	client string
	tool   tool
	began  time.Time
	total  time.Duration // agreed; 0: until the sender ends it
	fleet  *fleet        // what comes by TCP; nil: nothing can
	flood  *flood        // what comes by UDP; nil: nothing can
	over   chan struct{} // closed when the sender says that it is over
	lost   chan struct{} // closed when the caller has gone without that word
	ending sync.Once     // closes it where the host only begins another
	spent  bool          // it has had what one client may have; its host's alone
	whole  bool          // its sender has said that all of its connections stand
	inTime *tally        // what had come by TCP when the agreed total was over; nil: it is not. Its host's alone
	closed time.Time     // when the sender's connections had ended; zero: something else ended it. Its host's alone

	mu     sync.Mutex
	gone   bool     // it is over at this end: nobody joins any more
	doubts []string // what of it may be another sender's
	left   time.Time
	after  func() // what is done then; may be nil
}

func (s *session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// farewell is done when the session has ended, or now.
func (s *session) farewell(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = do
	if s.gone {
		do()
	}
}

func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone, s.left = true, time.Now()
	if s.after != nil {
		s.after()
	}
}

// straggles tells whether a session of a caller has ended so recently that what still comes of its sockets is its own, and
// no other's beginning.
func (s *session) straggles() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone && s.fleet != nil && time.Since(s.left) < udpSilence
}

const (
	serverTick     = 100 * time.Millisecond // how often bounds are looked at, at least
	serverInterval = time.Second            // of the events
	// stallPatience is how long a session may move nothing.
	stallPatience = 30 * time.Second
	// udpSilence ends a UDP session, of which nothing else tells the end.
	udpSilence = 2 * time.Second
	// overtime is how long a sender may take to end after the agreed total.
	overtime = 5 * time.Second
)

var errFull = errors.New("as many clients as are let in at once are here already")

// admit begins a session and moves the guests' data to it.
func (h *hall) admit(ctx context.Context, guests []guest, s *session, says string) (*session, error) {
	s.fleet = newFleet(h.serverTest())
	s.began, s.over, s.lost = time.Now(), make(chan struct{}), make(chan struct{})
	err := s.fleet.add(toDialled(guests))
	if err == nil {
		err = h.register(s)
	}
	if err != nil {
		s.fleet.close()
		return nil, err
	}
	s.fleet.start()
	h.begin(ctx, s, says)
	return s, nil
}

// receive begins a session of a host that sends without a caller, nil where it may not. A whole one has all of its connections.
func (h *hall) receive(ctx context.Context, guests []guest, whole bool, by tool) *session {
	s := &session{from: guests[0].from, client: guests[0].conn.RemoteAddr().String(), whole: whole, tool: by}
	if _, err := h.admit(ctx, guests, s, string(by)+", "+plural(len(guests), "connection")); err != nil {
		h.refuse(s.from, err.Error())
		return nil
	}
	return s
}

// register gives a session its number, if there is room.
func (h *hall) register(s *session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hasSeat() {
		return errFull
	}
	h.next++
	s.id = h.next
	h.sessions[s.id] = s
	if s.tool != forLinux { // whose host may have one of the other tool's on its way
		delete(h.arriving, s.from)
	}
	return nil
}

// begin follows a session to its end.
func (h *hall) begin(ctx context.Context, s *session, says string) {
	h.tell(traffic.ServerEvent{Session: s.id, Client: s.client, What: traffic.SessionBegan, Says: says})
	h.hosting.Go(func() { h.host(ctx, s) })
}

func (h *hall) host(ctx context.Context, s *session) {
	why, failed := h.follow(ctx, s)
	until := time.Now()
	if !s.closed.IsZero() {
		until = s.closed
	}
	h.noteSpent(s) // before anybody can find its host without a session
	h.vacate(s)
	h.drain(ctx, s)
	s.leave()
	if s.fleet != nil {
		s.fleet.halt()
	}
	end := s.end(until)
	s.doubtCounts()
	s.doubtSockets()
	why = s.says(why)
	if s.fleet != nil {
		s.fleet.close()
	}
	h.mu.Lock()
	delete(h.sessions, s.id)
	delete(h.vacated, s.id)
	h.mu.Unlock()
	what := traffic.SessionEnded
	if failed {
		what = traffic.SessionFailed
		end.Error = why
	}
	h.tell(traffic.ServerEvent{Session: s.id, Client: s.client, What: what, Says: why, End: &end})
}

const (
	drainQuiet = 100 * time.Millisecond // what is under way comes sooner
	drainMost  = time.Second
	drainTick  = 10 * time.Millisecond
)

// drain takes the datagrams that are under way when a caller says that its test is over, which overtakes them. One that
// reached a bound gets no more.
func (h *hall) drain(ctx context.Context, s *session) {
	if s.spent || s.fleet == nil || s.flood == nil || s.flood.count().calls == 0 {
		return
	}
	for began := time.Now(); time.Since(began) < drainMost && time.Since(s.flood.lastSeen()) < drainQuiet; {
		if sleep(ctx, drainTick) != nil {
			return
		}
	}
}

// tick is how often a session's bounds are looked at.
func (h *hall) tick() time.Duration { return traffic.ByteWatch(h.config.MaxBytes, serverTick) }

// watch is what following a session remembers from one look to the next.
type watch struct {
	tick   time.Duration
	looked time.Time
	still  traffic.Still
	last   uint64 // bytes
	moved  time.Time
	shown  tally // what was told last
}

func newWatch(began tally, tick time.Duration) *watch {
	now := time.Now()
	return &watch{tick: tick, looked: now, last: began.bytes, moved: now, shown: began}
}

// wake comes before a look, which is a tick after the one before. While the program stood still nothing was read, so that nobody knows
// whether something came.
func (w *watch) wake() {
	late := time.Since(w.looked) - w.tick
	w.still.Woke(late)
	w.looked = time.Now()
	w.moved = w.moved.Add(traffic.StoodStill(late))
}

// look takes what has come by now, and returns since when an interval is to be told, if one is.
func (w *watch) look(now tally) (from tally, tells bool) {
	if now.bytes != w.last {
		w.last, w.moved = now.bytes, now.at
	}
	if now.at.Sub(w.shown.at) < serverInterval || w.still.CatchesUp(time.Now()) {
		return tally{}, false
	}
	from, w.shown = w.shown, now
	return from, true
}

// follow tells intervals until something ends the session, and what it was.
func (h *hall) follow(ctx context.Context, s *session) (why string, failed bool) {
	tick := time.NewTicker(h.tick())
	defer tick.Stop()
	var idle, lost <-chan struct{}
	if s.fleet != nil {
		idle = s.fleet.idle
		if len(s.fleet.all()) == 0 {
			lost = s.lost // UDP has no connections that would end
		}
	}
	var inTime <-chan time.Time
	if s.total > 0 {
		timer := time.NewTimer(time.Until(s.began.Add(s.total)))
		defer timer.Stop()
		inTime = timer.C
	}
	w := newWatch(s.count(), h.tick())
	for {
		select {
		case <-ctx.Done():
			return "the server stops", true
		case <-s.over:
			return "the sender ended the test", false
		case <-idle:
			if !s.fleet.busy() {
				return s.close(ctx)
			}
			continue
		case <-lost:
			return s.close(ctx)
		case <-inTime:
			s.closeWindow()
			continue
		case <-tick.C:
		}
		w.wake()
		now := s.count()
		if from, tells := w.look(now); tells {
			h.interval(s, from, now)
		}
		if why, failed, ends := h.bounds(s, now, time.Since(w.moved)); ends {
			return why, failed
		}
	}
}

// close is how a session ended whose sender's connections have. Before the agreed total a sender that means it says so, behind
// them; one that is killed does not.
func (s *session) close(ctx context.Context) (why string, failed bool) {
	const says = "the sender closed its connections"
	s.closed = time.Now()
	early := s.total - s.closed.Sub(s.began)
	if early <= slack(s.total) {
		return says, false
	}
	select {
	case <-s.over:
		return "the sender ended the test", false
	case <-s.lost:
	case <-time.After(goodbye):
	case <-ctx.Done():
	}
	return fmt.Sprintf("%s %.1f s early", says, early.Seconds()), true
}

// timeless tells whether nothing but the bound ends a session in time: one whose ends agreed on no more than that ends by itself.
func (h *hall) timeless(s *session) bool { return s.total == 0 || s.total > h.config.MaxTime }

// bounds tells whether a session has to end.
func (h *hall) bounds(s *session, now tally, silent time.Duration) (why string, failed, ends bool) {
	age := now.at.Sub(s.began)
	bounded := h.config.MaxTime > 0 && age >= h.config.MaxTime
	missed := s.total - (age - silent) // of the agreed time, of which nothing came at its end
	switch {
	case h.config.MaxBytes > 0 && now.bytes >= h.config.MaxBytes:
		s.spent = true
		return fmt.Sprintf("it reached the bound of %d bytes", h.config.MaxBytes), false, true
	case bounded && h.timeless(s):
		s.spent = true
		return fmt.Sprintf("it reached the bound of %s", h.config.MaxTime), false, true
	case s.total > 0 && age >= s.total+overtime && missed > slack(s.total): // of a slow path something still comes
		s.spent = bounded
		return fmt.Sprintf("the sender has gone: nothing came in the last %.1f s of its time, nor did it end", missed.Seconds()), true, true
	case s.total > 0 && age >= s.total+overtime:
		s.spent = bounded
		return "its time is over", false, true
	case s.fleet == nil && silent > udpSilence:
		return fmt.Sprintf("no datagram for %s", udpSilence), false, true
	case silent > stallPatience:
		return fmt.Sprintf("nothing moved for %s", stallPatience), true, true
	}
	return "", false, false
}

func (s *session) count() tally {
	if s.fleet == nil {
		return s.with(tally{at: time.Now()})
	}
	return s.with(s.fleet.count())
}

// closeWindow is called when the agreed total is over. What a sender still has in its buffers then, which may be
// seconds of a slow path, comes behind it.
func (s *session) closeWindow() {
	sum := s.fleet.count()
	s.inTime = &sum
}

// counted is what the session's window has.
func (s *session) counted() tally {
	if s.inTime == nil {
		return s.count()
	}
	return s.with(*s.inTime)
}

// with adds what came by UDP to what came by TCP.
func (s *session) with(sum tally) tally {
	if s.flood != nil {
		udp := s.flood.count()
		sum.bytes += udp.bytes
		sum.calls += udp.calls
		sum.packets = udp.calls
	}
	return sum
}

func (h *hall) interval(s *session, from, to tally) {
	i := result.Interval{
		From: from.at.Sub(s.began).Seconds(), To: to.at.Sub(s.began).Seconds(),
		Bytes: to.bytes - from.bytes, Packets: to.packets - from.packets,
	}
	h.tell(traffic.ServerEvent{Session: s.id, Client: s.client, What: traffic.SessionInterval, Interval: &i})
}

// end is what the server saw until then. The window ends with the agreed total, which leaves
// out how long the sender took to close; where datagrams came that were under way then, and in a UDP session
// without a caller, with the last datagram.
func (s *session) end(until time.Time) result.PairEnd {
	sum := s.counted()
	end := result.PairEnd{
		WindowSeconds: until.Sub(s.began).Seconds(), Bytes: sum.bytes, Packets: sum.packets, Calls: sum.calls,
		CPUSeconds: sum.spent.CPU.Seconds(),
	}
	if s.fleet == nil {
		end.WindowSeconds = s.flood.lastSeen().Sub(s.began).Seconds()
		return end
	}
	if s.total > 0 {
		end.WindowSeconds = min(end.WindowSeconds, s.total.Seconds())
	}
	if sum.packets > 0 {
		end.WindowSeconds = max(end.WindowSeconds, s.flood.lastSeen().Sub(s.began).Seconds())
	}
	for _, c := range s.fleet.all() {
		end.Threads += c.hot
	}
	return end
}

// youngest is the session of a host, of those that fit, that began so recently that
// further connections are its own, and whose test is not over.
func (h *hall) youngest(from netip.Addr, fits func(*session) bool) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found *session
	for _, s := range h.sessions {
		if s.from == from && s.fleet != nil && !s.ended() && !h.vacated[s.id] && time.Since(s.began) < s.joinable() && fits(s) && (found == nil || s.id > found.id) {
			found = s
		}
	}
	return found
}

// joinable is for how long after it began further connections of its host are a session's own.
func (s *session) joinable() time.Duration {
	if s.whole {
		return queued
	}
	return joinWithin
}

// has tells whether a session has one of these connections' threads already: they
// are another sender's then.
func (s *session) has(guests []guest) bool {
	for _, c := range s.fleet.all() {
		for _, g := range guests {
			if slices.Contains(c.threads, g.thread) {
				return true
			}
		}
	}
	return false
}

func (h *hall) active() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

func (h *hall) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.hasSeat()
}

// hasSeat tells whether another session may begin. The caller holds the lock.
func (h *hall) hasSeat() bool {
	return h.config.MaxClients == 0 || len(h.sessions)-len(h.vacated) < h.config.MaxClients
}

// vacate gives the seat of a session free whose test is over, before its sender hears of it: the next one may come at once.
func (h *hall) vacate(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] == s {
		h.vacated[s.id] = true
	}
}

func (h *hall) refuse(from netip.Addr, why string) {
	h.tell(traffic.ServerEvent{Client: from.String(), What: traffic.SessionRefused, Says: why})
}

func (h *hall) tell(e traffic.ServerEvent) {
	if h.config.Event == nil {
		return
	}
	e.Protocol = h.server.Name()
	h.telling.Lock()
	defer h.telling.Unlock()
	h.config.Event(e)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
