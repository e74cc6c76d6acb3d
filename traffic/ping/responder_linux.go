package ping

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peerFlow is one socket over which requests come.
type peerFlow struct {
	fd    uintptr
	got   int    // bytes of a request that is not whole yet
	owed  int    // bytes of responses that the socket has not taken
	asked uint64 // whole requests that have come
	ended bool
}

// responder is the hot part of a thread that answers requests.
type responder struct {
	load   load
	token  token
	counts responderCounts
	flows  []peerFlow
	poller *poller // nil for one flow
	stop   *atomic.Bool
	buffer unsafe.Pointer
	reply  unsafe.Pointer
	most   int // bytes of one reply
	flags  uintptr
}

// What a hot loop says beside errors: the sender has ended a flow.
const (
	flowEnded   = unix.EPIPE
	flowWaits   = unix.EAGAIN
	flowGreeted = unix.EISCONN // a hello or a farewell is in the buffer
)

func newResponder(l load, session token, fds []int, stop *atomic.Bool) (*responder, error) {
	p := &responder{
		load: l, token: session, stop: stop, buffer: newBuffer(bufferSize), most: l.longest(),
		flags: unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT,
	}
	if !l.udp { // the responses to several requests that came together leave together
		p.most = max(l.longest(), bufferSize)
	}
	p.reply = newBuffer(p.most)
	for _, fd := range fds {
		p.flows = append(p.flows, peerFlow{fd: uintptr(fd)})
	}
	if len(fds) == 1 {
		if !l.busy {
			p.flags = unix.MSG_NOSIGNAL
		}
		return p, nil
	}
	var err error
	p.poller, err = newPoller(fds)
	return p, err
}

// work answers until every flow has ended, a stop, or an error.
func (p *responder) work() error {
	for open := len(p.flows); open > 0 && !p.stop.Load(); {
		f, errno := p.burst()
		switch {
		case errno == flowGreeted && !p.parts(f):
		case errno == flowGreeted, errno == flowEnded, p.load.udp && errno == unix.ECONNREFUSED:
			p.end(f)
			open--
		default:
			if err := judge(errno); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *responder) end(f *peerFlow) {
	f.ended = true
	if p.poller != nil {
		p.poller.remove(f.fd)
	}
}

// parts answers a repeated hello, or the farewell, of this session; true: the flow
// has ended.
func (p *responder) parts(f *peerFlow) bool {
	h, err := decodeHello(unsafe.Slice((*byte)(p.buffer), helloSize))
	if err != nil || h.Token != p.token {
		return false
	}
	a := answer{Status: welcome, Index: h.Index}
	if h.Purpose == farewell {
		a.Status = goodbye
	}
	b := a.encode()
	_, _ = unix.Write(int(f.fd), b[:]) // a lost one is asked for again
	return h.Purpose == farewell
}

func (p *responder) burst() (*peerFlow, syscall.Errno) {
	if p.poller == nil {
		return &p.flows[0], p.answerOne(&p.flows[0])
	}
	return p.answerMany()
}

// answerOne serves a thread's only flow. Its methods follow hot_linux.go's rules.
//
//go:nosplit
func (p *responder) answerOne(f *peerFlow) syscall.Errno {
	for end := nanotime() + burstTime; nanotime() < end && !p.stop.Load(); {
		if e := p.serve(f); e != 0 {
			if e == flowWaits && p.load.busy {
				continue
			}
			return e
		}
	}
	return 0
}

// answerMany serves the flows that are ready, each one request or what came with it.
//
//go:nosplit
func (p *responder) answerMany() (*peerFlow, syscall.Errno) {
	patience := int64(patience)
	if p.load.busy {
		patience = 0
	}
	for end := nanotime() + burstTime; nanotime() < end && !p.stop.Load(); {
		ready, e := p.poller.wait(patience)
		if e != 0 {
			return nil, e
		}
		for i := 0; i < ready; i++ {
			place := p.poller.events[i].Fd
			f := &p.flows[place]
			if e := p.serveReady(f, place); e != 0 {
				return f, e
			}
		}
	}
	return nil, 0
}

// serveReady serves a flow once and, when its socket is full, lets it wait for room
// before it reads on: what it owes stays bounded by one read.
//
//go:nosplit
func (p *responder) serveReady(f *peerFlow, place int32) syscall.Errno {
	owed := f.owed > 0
	e := p.serve(f)
	if e != 0 && e != flowWaits {
		return e
	}
	switch {
	case !owed && f.owed > 0:
		return p.poller.hold(f.fd, place)
	case owed && f.owed == 0:
		return p.poller.watch(f.fd, place, false)
	}
	return 0
}

// serve pays what is owed, else reads once and answers.
//
//go:nosplit
func (p *responder) serve(f *peerFlow) syscall.Errno {
	if f.owed > 0 {
		return p.pay(f)
	}
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, f.fd, uintptr(p.buffer), bufferSize, p.flags&^unix.MSG_NOSIGNAL, 0, 0)
	if e == unix.EINTR || e != 0 && p.load.udp && ofADatagram(e) {
		return flowWaits
	}
	if e != 0 {
		return e
	}
	if p.load.udp {
		return p.datagram(f, int(n))
	}
	if n == 0 {
		return flowEnded
	}
	f.got += int(n)
	if p.load.mixed {
		p.takeMixed(f)
		return p.pay(f)
	}
	requests := f.got / p.load.message
	f.got -= requests * p.load.message
	f.owed = requests * p.load.response
	p.counts.requests.Add(uint64(requests))
	p.counts.bytes.Add(uint64(n))
	return p.pay(f)
}

// takeMixed takes the requests that are whole, of which some read and some write. Payload counts when all of it
// has come, or when its answer is due.
//
//go:nosplit
func (p *responder) takeMixed(f *peerFlow) {
	requests, written, read := uint64(0), uint64(0), uint64(0)
	for whole := p.load.request(f.asked); f.got >= whole; whole = p.load.request(f.asked) {
		f.got -= whole
		f.owed += p.load.answer(f.asked)
		if p.load.isRead(f.asked) {
			read += uint64(p.load.message)
		} else {
			written += uint64(p.load.message)
		}
		f.asked++
		requests++
	}
	p.counts.requests.Add(requests)
	p.counts.bytes.Add(written)
	p.counts.back.Add(read)
}

// payments are how many calls in turn pay a flow among several, which do not wait. An only flow's wait, and who calls
// again looks at the stop and at the clock before.
const payments = 16

// pay sends of what a stream is owed, so little at a time that one which is owed much, or takes it slowly, holds up
// neither other flows nor the end; EAGAIN: the socket is full.
//
//go:nosplit
func (p *responder) pay(f *peerFlow) syscall.Errno {
	calls := 1
	if p.poller != nil {
		calls = payments
	}
	for ; calls > 0 && f.owed > 0; calls-- {
		n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, f.fd, uintptr(p.reply), uintptr(min(f.owed, p.most)), p.flags, 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return e
		}
		f.owed -= int(n)
	}
	return 0
}

// datagram answers a request of n bytes with its number.
//
//go:nosplit
func (p *responder) datagram(f *peerFlow, n int) syscall.Errno {
	if n == helloSize && *(*[8]byte)(p.buffer) == magicBytes {
		return flowGreeted
	}
	if n != p.load.message {
		p.counts.corrupt.Add(1)
		return 0
	}
	if n >= numberedSize {
		*(*uint64)(p.reply) = *(*uint64)(p.buffer)
	} else {
		for i := 0; i < n; i++ {
			*(*byte)(unsafe.Add(p.reply, i)) = *(*byte)(unsafe.Add(p.buffer, i))
		}
	}
	p.counts.requests.Add(1)
	p.counts.bytes.Add(uint64(n))
	e := p.respond(f)
	if ofADatagram(e) { // an earlier one: of that the kernel tells but once
		e = p.respond(f)
	}
	if ofADatagram(e) || e == unix.EAGAIN || e == unix.ENOBUFS || e == unix.EINTR {
		p.counts.refused.Add(1)
		return 0
	}
	return e
}

//go:nosplit
func (p *responder) respond(f *peerFlow) syscall.Errno {
	_, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, f.fd, uintptr(p.reply), uintptr(p.load.response), p.flags, 0, 0)
	return e
}
