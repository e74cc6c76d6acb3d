package ping

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// burstTime is after how long, in ns, a hot loop lets its histograms catch up.
	burstTime = 10e6
	// dueAtOnce is how many late requests leave before answers are looked for.
	dueAtOnce = 64
	// readsAtOnce is how many reads one ready flow gets before the next has its turn.
	readsAtOnce = 8
	// bufferSize takes any datagram, and the responses of many small requests.
	bufferSize = 64 << 10
)

// flow is one socket over which requests leave.
type flow struct {
	out     outstanding
	fd      uintptr
	got     int    // bytes of an answer that is not whole yet
	size    int    // bytes of the waiting request
	left    int    // of them that the socket has not taken; 0: not begun
	asked   uint64 // requests that the socket has taken
	heard   uint64 // answers that have come
	begun   int64  // when its first byte left
	last    int64  // when something of an answer came last
	blocked bool   // the socket is full: epoll tells when it is not
	moving  moving
}

// pinger is the hot part of a thread that sends requests. Its nosplit methods follow
// the rules of hot loops: no allocation, raw system calls, and they return often.
type pinger struct {
	load     load
	tally    *tally
	flows    []flow
	poller   *poller // nil for the one flow of a closed loop
	halted   *atomic.Bool
	request  unsafe.Pointer // its bytes; over UDP the first are its number
	buffer   unsafe.Pointer
	width    uint   // bytes of the number
	bits     uint64 // that are compared
	flags    uintptr
	patience int64 // ns
	shortest int   // bytes of an answer
	idles    bool  // a flow of a closed loop may have had no room to ask

	now      int64 // the last reading of the clock
	last     int64 // no request leaves from then on
	arrivals *arrivals
	times    [256]int64 // the next requests' times
	at, have int
	dry      bool // times holds the last ones
	turn     int  // of the flows
	check    int64
}

func newPinger(l load, p plan, thread int, fds []int, halted *atomic.Bool) (*pinger, error) {
	g := &pinger{
		load: l, tally: newTally(l, p), halted: halted, patience: min(patience, l.wait).Nanoseconds(),
		request: newBuffer(max(l.message, l.longest())), buffer: newBuffer(bufferSize), flags: unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT,
	}
	g.width = uint(l.width())
	g.bits = ^uint64(0) >> (64 - 8*g.width)
	g.shortest = l.shortest()
	g.last = p.stop + l.lateness().Nanoseconds()
	limit, size := l.remembered()
	for _, fd := range fds {
		g.flows = append(g.flows, flow{fd: uintptr(fd), out: newOutstanding(limit, size)})
	}
	if l.open() {
		g.arrivals = newArrivals(l, thread, len(fds), p.start)
	} else if len(fds) == 1 && l.depth == 1 {
		if !l.busy {
			g.flags = unix.MSG_NOSIGNAL // blocking, bounded by patience
		}
		return g, nil
	}
	var err error
	g.poller, err = newPoller(fds)
	return g, err
}

// work sends and takes until the plan is over, a halt, or an error.
func (g *pinger) work() error {
	err := g.ping()
	broken := err != nil && !g.halted.Load() // after a halt the peer may go away first
	g.tally.flush(g.now)
	if g.load.udp && !broken {
		g.rest()
	}
	g.neverLeft(broken)
	g.tally.flush(g.now)
	for i := range g.flows {
		f := &g.flows[i]
		g.tally.listen(&f.out, f.last, g.now)
		g.tally.leave(&f.out, g.now, !g.load.udp, broken)
	}
	if g.tally.steps != nil {
		g.tally.steps.finish(g.now)
	}
	return err
}

// rest takes the answers that wait in the sockets: a thread that had no turn for as long as an answer may take gave up what had come
// meanwhile. They are late, not lost.
func (g *pinger) rest() {
	g.flags |= unix.MSG_DONTWAIT
	for i := range g.flows {
		f := &g.flows[i]
		for end := nanotime() + restMost; g.take(f) == 0 && g.now < end; {
			if g.tally.room() == 0 {
				g.tally.flush(g.now)
			}
		}
		g.tally.flush(g.now)
	}
}

func (g *pinger) ping() error {
	g.now = nanotime()
	if g.arrivals == nil {
		if errno := g.kickAll(); errno != 0 {
			return judge(errno)
		}
	}
	for !g.halted.Load() && !g.over() {
		g.refill()
		errno := g.burst()
		g.tally.flush(g.now)
		if errno == 0 && g.idles && g.arrivals == nil && g.poller != nil {
			g.idles = false
			errno = g.kickAll()
		}
		if err := judge(errno); err != nil {
			return err
		}
		if err := g.expire(); err != nil {
			return err
		}
	}
	return nil
}

func (g *pinger) kickAll() syscall.Errno {
	for i := range g.flows {
		if errno := g.kick(&g.flows[i]); errno != 0 {
			return errno
		}
	}
	return 0
}

// neverLeft counts the requests that were due when the trial ended and had no turn.
// Those of a trial that was cut short might still have left, late.
func (g *pinger) neverLeft(broken bool) {
	for g.arrivals != nil {
		for ; g.at < g.have; g.at++ {
			r := request{intended: g.times[g.at], state: due}
			if r.intended >= min(g.now, g.tally.plan.stop) || !broken && g.halted.Load() && g.tally.undecided(&r, g.now) {
				return
			}
			g.tally.note(&r, g.now, refused)
			if g.tally.room() == 0 {
				g.tally.flush(g.now)
			}
		}
		g.tally.flush(g.now)
		if g.dry {
			return
		}
		g.refill()
	}
}

func (g *pinger) burst() syscall.Errno {
	if g.poller == nil {
		return g.closedBurst()
	}
	return g.round()
}

func (g *pinger) refill() {
	if g.arrivals == nil || g.dry || g.at < g.have {
		return
	}
	g.arrivals.fill(g.times[:])
	g.at, g.have = 0, len(g.times)
	for g.have > 0 && g.times[g.have-1] >= g.tally.plan.stop {
		g.have--
		g.dry = true
	}
}

// over tells whether every request of the window has ended, or been waited for. A
// stream is left without an answer on its way, which would reset the connection.
func (g *pinger) over() bool {
	if g.now < g.tally.plan.stop {
		return false
	}
	if g.now >= g.last+g.load.wait.Nanoseconds() {
		return true
	}
	if g.arrivals != nil && g.now < g.last && !(g.dry && g.at == g.have) {
		return false // late ones leave late
	}
	for i := range g.flows {
		o := &g.flows[i].out
		if o.first < o.next && (!g.load.udp || o.ring[o.first&o.mask].intended < g.tally.plan.to) {
			return false
		}
	}
	return true
}

// expire looks for requests without an answer, now and then: over UDP they are
// given up, over TCP they tell a peer that has gone silent.
func (g *pinger) expire() error {
	if g.now < g.check {
		return nil
	}
	wait := g.load.wait.Nanoseconds()
	g.check = g.now + wait/32
	for i := range g.flows {
		f := &g.flows[i]
		if !g.load.udp {
			if r := f.out.oldest(); r != nil && max(r.sent, f.last) < g.now-max(silenceLimit, wait) { // the oldest alone may wait behind many
				return errSilent
			}
			continue
		}
		g.seek(f)
		for g.now > wait {
			r := f.out.giveUp(g.now - wait)
			if r == nil {
				break
			}
			g.tally.note(r, g.now, givenUp)
			if g.tally.room() == 0 {
				g.tally.flush(g.now)
			}
		}
		if g.arrivals == nil && f.out.alive == 0 && g.poller != nil {
			if err := judge(g.kick(f)); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge makes an error of what a call said; that nothing came in time is none.
func judge(errno syscall.Errno) error {
	switch errno {
	case 0, unix.EAGAIN:
		return nil
	case unix.EPIPE, unix.ECONNRESET, unix.ECONNREFUSED:
		return fmt.Errorf("the peer went away: %w", errno)
	case unix.EPROTO:
		return errUnasked
	case unix.EMSGSIZE:
		return fmt.Errorf("asking: %w: take a smaller message", errno)
	}
	return fmt.Errorf("asking and hearing: %w", errno)
}
