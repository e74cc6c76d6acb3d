package ping

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// The methods of this file are hot. They are nosplit, so that the scheduler's
// request to give way, which comes every 10 ms (forcePreemptNS in Go's
// runtime/proc.go), does not switch threads between a request and its answer; they
// return after a burst, which is the safe point that stopping the world waits for.

// closedBurst is the loop of one flow that asks, waits and asks again. The clock is
// read once a transaction: a request leaves when the answer before it has come.
//
//go:nosplit
func (g *pinger) closedBurst() syscall.Errno {
	f := &g.flows[0]
	g.now = nanotime()
	for end := g.now + burstTime; g.now < end && g.tally.room() > 0; {
		if f.out.alive == 0 {
			if g.now >= g.tally.plan.stop || g.halted.Load() {
				return 0
			}
			f.out.book(g.now)
		}
		if e := g.transmit(f); e != 0 {
			g.now = nanotime()
			return e
		}
		if e := g.take(f); e != 0 {
			g.now = nanotime()
			if e != unix.EAGAIN || !g.load.busy {
				return e
			}
		}
	}
	return 0
}

// kick lets a flow of a closed loop ask, as often as it may.
//
//go:nosplit
func (g *pinger) kick(f *flow) syscall.Errno {
	for g.now < g.tally.plan.stop && f.out.book(g.now) {
	}
	if f.out.unsent == f.out.next || f.blocked {
		return 0
	}
	return g.send(f)
}

// round sends what is due, waits for what comes first, the next request's time or
// an answer, and takes the answers that are there. Its beginning is a safe point, as
// the end of a burst is.
func (g *pinger) round() syscall.Errno {
	g.now = nanotime()
	if e := g.launch(); e != 0 {
		return e
	}
	ready, e := g.poller.wait(g.timeout())
	g.now = nanotime()
	if e != 0 {
		return e
	}
	for i := 0; i < ready; i++ {
		event := &g.poller.events[i]
		f := &g.flows[event.Fd]
		if event.Events&unix.EPOLLOUT != 0 {
			if e := g.send(f); e != 0 {
				return e
			}
		}
		if event.Events&^unix.EPOLLOUT != 0 {
			if e := g.hear(f); e != 0 {
				return e
			}
		}
	}
	return 0
}

// launch books the requests whose time has come and sends them.
//
//go:nosplit
func (g *pinger) launch() syscall.Errno {
	for k := 0; k < dueAtOnce && g.now < g.last && g.at < g.have && g.times[g.at] <= g.now && g.tally.room() > 0; k++ {
		intended := g.times[g.at]
		f := &g.flows[g.turn]
		if g.turn++; g.turn == len(g.flows) {
			g.turn = 0
		}
		g.at++
		if !f.out.book(intended) {
			g.tally.note(&request{intended: intended}, g.now, refused)
			continue
		}
		if f.blocked {
			continue
		}
		if e := g.send(f); e != 0 {
			return e
		}
	}
	return 0
}

// atTheEnd is how often, in ns, the last open requests are looked at.
const atTheEnd = 5e6

// timeout is for how long nothing is due, in ns.
//
//go:nosplit
func (g *pinger) timeout() int64 {
	switch {
	case g.load.busy || g.tally.room() == 0:
		return 0
	case g.now >= g.last:
		return min(g.patience, atTheEnd)
	case g.at < g.have:
		return max(0, min(g.patience, g.times[g.at]-g.now))
	case g.arrivals != nil && !g.dry:
		return 0
	case g.now < g.tally.plan.stop:
		return min(g.patience, g.tally.plan.stop-g.now)
	}
	return min(g.patience, atTheEnd)
}

// hear takes answers from a ready flow.
//
//go:nosplit
func (g *pinger) hear(f *flow) syscall.Errno {
	for k := 0; k < readsAtOnce && g.tally.room() > 0; k++ {
		e := g.take(f)
		if e == unix.EAGAIN {
			return 0
		}
		if e != 0 {
			return e
		}
		idle := f.out.alive == 0
		if g.arrivals == nil {
			if e := g.kick(f); e != 0 {
				return e
			}
		}
		if idle {
			return 0
		}
	}
	if g.tally.room() == 0 {
		g.idles = true
	}
	return 0
}

// send is transmit that lets epoll tell when a full socket is not full any more.
//
//go:nosplit
func (g *pinger) send(f *flow) syscall.Errno {
	e := g.transmit(f)
	if e != 0 && e != unix.EAGAIN {
		return e
	}
	if full := e == unix.EAGAIN; full != f.blocked {
		f.blocked = full
		return g.poller.watch(f.fd, g.turnOf(f), full)
	}
	return 0
}

//go:nosplit
func (g *pinger) turnOf(f *flow) int32 {
	return int32((uintptr(unsafe.Pointer(f)) - uintptr(unsafe.Pointer(unsafe.SliceData(g.flows)))) / unsafe.Sizeof(*f))
}

// transmit hands the socket what is due on a flow; EAGAIN: it is full. What a full one has kept from leaving for so long that its
// answer could not be waited for stays.
//
//go:nosplit
func (g *pinger) transmit(f *flow) syscall.Errno {
	told := false
	for f.out.unsent < f.out.next && g.tally.room() > 0 {
		if f.left == 0 {
			if g.now >= g.last {
				return 0
			}
			g.begin(f)
		}
		n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, f.fd, uintptr(g.request)+uintptr(f.size-f.left), uintptr(f.left), g.flags, 0, 0)
		switch e {
		case 0:
			told = false
		case unix.EINTR:
			continue
		case unix.ENOBUFS:
			g.turnAway(f)
			continue
		default:
			if f.left == f.size {
				f.left = 0 // nothing has left yet
			}
			if g.load.udp && ofADatagram(e) {
				if !told { // of an earlier one, of which the kernel tells but once
					told = true
					continue
				}
				e = g.without(f, e)
			}
			if e != 0 {
				return e
			}
			continue
		}
		if f.left -= int(n); f.left == 0 {
			g.leave(f)
		}
	}
	if f.out.unsent < f.out.next {
		g.idles = true
	}
	return 0
}

// turnAway counts the waiting request as one that the socket did not take.
//
//go:nosplit
func (g *pinger) turnAway(f *flow) {
	g.tally.note(f.out.slot(f.out.unsent), g.now, refused)
	f.out.turnedAway()
	f.left = 0
}

// leave counts the waiting request as one that has left.
//
//go:nosplit
func (g *pinger) leave(f *flow) {
	f.out.left(f.begun).read = g.load.isRead(f.asked)
	f.asked++
}

// without is what becomes of the waiting request while there is no way to the peer, which may come back: an open loop's is refused. A closed
// loop's is lost, so that the next one waits as long as for an answer. Another error remains one.
//
//go:nosplit
func (g *pinger) without(f *flow, e syscall.Errno) syscall.Errno {
	switch {
	case !traffic.NoWay(e):
		return e
	case g.arrivals != nil:
		g.turnAway(f)
	default:
		g.leave(f)
	}
	return 0
}

// begin readies the waiting request. In a closed loop of one request it leaves at the
// time at which it was booked; of several, one reading brings answers to many, and each
// further one leaves later than that.
//
//go:nosplit
func (g *pinger) begin(f *flow) {
	if g.arrivals != nil || g.load.depth > 1 {
		g.now = nanotime()
	}
	f.size = g.load.shape.request(f.asked)
	f.begun, f.left = g.now, f.size
	if !g.load.udp {
		return
	}
	number := f.out.unsent
	for i := uint(0); i < g.width; i++ {
		*(*byte)(unsafe.Add(g.request, i)) = byte(number >> (8 * i))
	}
}

// take reads once from a flow.
//
//go:nosplit
func (g *pinger) take(f *flow) syscall.Errno {
	size := bufferSize
	if most := g.load.answer(f.heard) - f.got + (g.tally.room()-1)*g.shortest; !g.load.udp && most < size {
		size = most
	}
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, f.fd, uintptr(g.buffer), uintptr(size), g.flags&^unix.MSG_NOSIGNAL, 0, 0)
	if e == unix.EINTR || e != 0 && g.load.udp && ofADatagram(e) {
		return unix.EAGAIN
	}
	if e != 0 {
		return e
	}
	g.now = nanotime()
	f.last = g.now
	if g.load.udp {
		g.datagram(f, int(n))
		return 0
	}
	if n == 0 {
		return unix.EPIPE
	}
	f.got += int(n)
	for whole := g.load.answer(f.heard); f.got >= whole; whole = g.load.answer(f.heard) {
		r := f.out.answerOldest()
		if r == nil {
			return unix.EPROTO
		}
		f.got -= whole
		f.heard++
		g.tally.note(r, g.now, answered)
	}
	return 0
}

// datagram finds the request to an answer of n bytes.
//
//go:nosplit
func (g *pinger) datagram(f *flow, n int) {
	if n != g.load.response {
		g.stray(f, n, unused)
		return
	}
	number := uint64(0)
	for i := uint(0); i < g.width; i++ {
		number |= uint64(*(*byte)(unsafe.Add(g.buffer, i))) << (8 * i)
	}
	r, was := f.out.answerNumbered(number, g.bits)
	switch was {
	case open:
		g.tally.note(r, g.now, answered)
	case givenUp:
		g.tally.note(r, g.now, lateAnswer)
	default:
		g.stray(f, n, was)
	}
}

// stray counts what is no answer to a request that is waited for. What the handshake
// has left, the answer to a hello that was repeated, is nothing, nor is one to a flow that may have moved.
//
//go:nosplit
func (g *pinger) stray(f *flow, n int, was uint8) {
	if n == answerSize && *(*[8]byte)(g.buffer) == magicBytes {
		f.moving.answered(g.buffer)
		return
	}
	g.tally.stray(g.now, was)
}
