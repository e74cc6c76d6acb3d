package ping

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// portablePinger asks over some flows: one goroutine sends what is due, one a flow
// hears the answers; in a closed loop each flow's does both. A stream whose socket is
// full holds up its pinger's others: that shows as lag.
type portablePinger struct {
	load     load
	halted   *atomic.Bool
	arrivals *arrivals
	sent     atomic.Bool // nothing is due any more

	mu    sync.Mutex // of what follows
	tally *tally
	flows []*portableFlow
}

type portableFlow struct {
	conn    net.Conn
	request []byte
	out     outstanding
	got     int
	asked   uint64 // requests that have left
	heard   uint64 // answers that have come
	last    int64  // when something of an answer came last
}

func newPortablePinger(l load, p plan, thread int, conns []net.Conn, halted *atomic.Bool) *portablePinger {
	g := &portablePinger{load: l, halted: halted, tally: newTally(l, p)}
	limit, size := l.remembered()
	for _, conn := range conns {
		f := &portableFlow{conn: conn, request: make([]byte, max(l.message, l.longest())), out: newOutstanding(limit, size)}
		fillPattern(f.request)
		g.flows = append(g.flows, f)
	}
	if l.open() {
		g.arrivals = newArrivals(l, thread, len(conns), p.start)
	}
	return g
}

// work sends and hears until the plan is over, a halt, or an error.
func (g *portablePinger) work() error {
	errs := make([]error, len(g.flows)+1)
	var all sync.WaitGroup
	var failed atomic.Bool
	run := func(i int, do func() error) {
		if errs[i] = do(); errs[i] != nil && !g.halted.Load() { // after a halt the peer may go away first
			failed.Store(true)
		}
	}
	enough := func() bool { return g.halted.Load() || failed.Load() }
	for i, f := range g.flows {
		all.Go(func() { run(i, func() error { return g.hear(f, enough) }) })
	}
	if g.arrivals != nil {
		run(len(g.flows), func() error { return g.dispatch(enough) })
	}
	g.sent.Store(true)
	all.Wait()
	g.finish(failed.Load())
	return errors.Join(errs...)
}

func (g *portablePinger) finish(broken bool) {
	now := nanotime()
	g.tally.flush(now)
	for _, f := range g.flows {
		g.tally.listen(&f.out, f.last, now)
		g.tally.leave(&f.out, now, !g.load.udp, broken)
	}
	if g.tally.steps != nil {
		g.tally.steps.finish(now)
	}
}

// dispatch sends each request when it is due, over the flows in turn.
func (g *portablePinger) dispatch(enough func() bool) error {
	var times [64]int64
	for turn, at := 0, len(times); !enough(); at, turn = at+1, turn+1 {
		if at == len(times) {
			g.arrivals.fill(times[:])
			at = 0
		}
		if times[at] >= g.tally.plan.stop {
			return nil
		}
		if nanotime() >= g.tally.plan.stop+g.tally.lateness {
			g.neverLeft(times[at:])
			return nil
		}
		for left := times[at] - nanotime(); left > 0 && !enough(); left = times[at] - nanotime() {
			time.Sleep(min(time.Duration(left), portablePatience))
		}
		if err := g.ask(g.flows[turn%len(g.flows)], times[at], enough); err != nil {
			return err
		}
	}
	return nil
}

// neverLeft counts the requests that were due in time and had no turn, from some times on.
func (g *portablePinger) neverLeft(times []int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	more := make([]int64, 64)
	for {
		for _, at := range times {
			if at >= g.tally.plan.stop {
				return
			}
			g.makeRoom()
			g.tally.note(&request{intended: at}, nanotime(), refused)
		}
		g.arrivals.fill(more)
		times = more
	}
}

// ask sends one request, or counts that it was refused.
func (g *portablePinger) ask(f *portableFlow, intended int64, enough func() bool) error {
	g.mu.Lock()
	g.makeRoom()
	if !f.out.book(intended) {
		g.tally.note(&request{intended: intended}, nanotime(), refused)
		g.mu.Unlock()
		return nil
	}
	number, _ := f.out.waiting()
	f.out.left(nanotime()).read = g.load.isRead(f.asked)
	rest := f.request[:g.load.shape.request(f.asked)]
	f.asked++
	g.mu.Unlock()
	if g.load.udp {
		f.write(number, g.load.width())
	}
	for len(rest) > 0 && !enough() {
		f.conn.SetWriteDeadline(time.Now().Add(portablePatience))
		n, err := f.conn.Write(rest)
		rest = rest[n:]
		switch {
		case err == nil, errors.Is(err, os.ErrDeadlineExceeded):
		case g.load.udp && !refusedByPeer(err):
			return fmt.Errorf("sending a request: %w", err)
		default:
			return fmt.Errorf("the peer went away: %w", err)
		}
	}
	return nil
}

func (f *portableFlow) write(number uint64, width int) {
	var b [numberedSize]byte
	binary.LittleEndian.PutUint64(b[:], number)
	copy(f.request, b[:width])
}

// makeRoom lets one more request end. The caller holds the lock.
func (g *portablePinger) makeRoom() {
	if g.tally.room() == 0 {
		g.tally.flush(nanotime())
	}
}

// hear takes answers until the plan is over. In a closed loop it asks, too.
func (g *portablePinger) hear(f *portableFlow, enough func() bool) error {
	b := make([]byte, max(64<<10, g.load.longest()+1))
	f.last = nanotime()
	for !enough() {
		if g.arrivals == nil && g.idle(f) && nanotime() < g.tally.plan.stop {
			if err := g.ask(f, nanotime(), enough); err != nil {
				return err
			}
		}
		if g.over(f, nanotime()) {
			return g.rest(f, b)
		}
		f.conn.SetReadDeadline(time.Now().Add(min(portablePatience, g.load.wait)))
		n, err := f.conn.Read(b)
		now := nanotime()
		if n > 0 {
			f.last = now
			if err := g.take(f, b[:n], now); err != nil {
				return err
			}
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("the peer went away: %w", err)
		}
		if err := g.expire(f, f.last, now); err != nil {
			return err
		}
	}
	return nil
}

// restGap is for how long an answer that waits in the socket may need to be read.
const restGap = 20 * time.Millisecond

// rest takes the answers that wait in the socket where some are missed, as the other pinger's does.
func (g *portablePinger) rest(f *portableFlow, b []byte) error {
	now := nanotime()
	if !g.load.udp {
		return nil
	}
	if err := g.expire(f, now, now); err != nil || !g.misses(f) {
		return err
	}
	for end := now + restMost; nanotime() < end; {
		f.conn.SetReadDeadline(time.Now().Add(restGap))
		n, err := f.conn.Read(b)
		if err != nil {
			return nil // all that there was
		}
		if err := g.take(f, b[:n], nanotime()); err != nil {
			return err
		}
	}
	return nil
}

// misses tells whether a flow waits for answers, or any was given up.
func (g *portablePinger) misses(f *portableFlow) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tally.flush(nanotime())
	return f.out.alive > 0 || g.tally.lost > 0
}

func (g *portablePinger) idle(f *portableFlow) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return f.out.alive == 0
}

func (g *portablePinger) over(f *portableFlow, now int64) bool {
	if g.arrivals != nil && !g.sent.Load() {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	stop := g.tally.plan.stop
	return now >= stop && (f.out.first == f.out.next || now >= stop+g.tally.lateness+g.load.wait.Nanoseconds())
}

// take finds the requests to what was read.
func (g *portablePinger) take(f *portableFlow, b []byte, now int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load.udp {
		g.makeRoom()
		g.datagram(f, b, now)
	} else {
		f.got += len(b)
		for whole := g.load.answer(f.heard); f.got >= whole; whole = g.load.answer(f.heard) {
			r := f.out.answerOldest()
			if r == nil {
				return errUnasked
			}
			f.got -= whole
			f.heard++
			g.makeRoom()
			g.tally.note(r, now, answered)
		}
	}
	g.tally.flush(now)
	return nil
}

func (g *portablePinger) datagram(f *portableFlow, b []byte, now int64) {
	if _, err := decodeAnswer(b); err == nil {
		return // what the handshake has left
	}
	if len(b) != g.load.response {
		g.tally.stray(now, unused)
		return
	}
	var number [numberedSize]byte
	width := g.load.width()
	copy(number[:], b[:width])
	r, was := f.out.answerNumbered(binary.LittleEndian.Uint64(number[:]), ^uint64(0)>>(64-8*width))
	switch was {
	case open:
		g.tally.note(r, now, answered)
	case givenUp:
		g.tally.note(r, now, lateAnswer)
	default:
		g.tally.stray(now, was)
	}
}

// expire gives requests up over UDP, and a peer that has gone silent over TCP.
func (g *portablePinger) expire(f *portableFlow, heard, now int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tally.flush(now)
	wait := g.load.wait.Nanoseconds()
	if !g.load.udp {
		if r := f.out.oldest(); r != nil && max(r.sent, heard) < now-max(silenceLimit, wait) {
			return errSilent
		}
		return nil
	}
	for {
		r := f.out.giveUp(now - wait)
		if r == nil {
			return nil
		}
		g.makeRoom()
		g.tally.note(r, now, givenUp)
	}
}
