package datagram

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

const (
	// maxAggregate is what one message may bring with UDP_GRO.
	maxAggregate = 64 << 10
	// intakeBytes bounds the memory of a call, intakeMessages its messages.
	intakeBytes    = 1 << 20
	intakeMessages = 64
	minIntake      = 8
	// controlSpace holds a control message of one int (CMSG_SPACE(4)), twice.
	controlSpace = 48
)

// intake is the memory of a receiving thread's calls.
type intake struct {
	size     int // bytes of a message
	memory   []byte
	headers  []traffic.Message
	vectors  []unix.Iovec
	names    []name
	controls [][controlSpace]byte
	poller   *poller // nil for one socket
	brought  int     // bytes of the last call
	swift    swift
	doze     doze
	rest     rest
	priority priority
	polls    bool // before it sleeps
	trial    pollTrial
}

func newIntake(c Config, inlets []*inlet) (*intake, error) {
	size := c.Message + 1 // one more, so that a longer datagram shows
	if c.Aggregation != offloadOff {
		size = min(maxAggregate, max(size, maxSegments*c.Message))
	}
	size = (size + 63) &^ 63
	n := max(minIntake, min(intakeMessages, intakeBytes/size))
	k := &intake{
		size: size, memory: make([]byte, n*size), headers: make([]traffic.Message, n), vectors: make([]unix.Iovec, n),
		names: make([]name, n), controls: make([][controlSpace]byte, n), trial: newPollTrial(c),
	}
	clear(k.memory) // makes it present
	for i := range k.headers {
		k.vectors[i].Base = &k.memory[i*size]
		k.vectors[i].SetLen(size)
		h := &k.headers[i].Header
		h.Iov = &k.vectors[i]
		h.SetIovlen(1)
		h.Name, h.Control = &k.names[i].bytes[0], &k.controls[i][0]
	}
	if len(inlets) == 1 {
		return k, nil
	}
	var err error
	k.poller, err = newPoller(inlets)
	return k, err
}

func (k *intake) close() {
	if k != nil && k.poller != nil {
		unix.Close(k.poller.fd)
	}
}

// dozeNS is how long a thread sleeps where more is on its way than it has found, so that nobody need wake it up for
// each aggregate: where the stack's work is another CPU's, that one's time goes into waking this one, which in a VM
// leaves to the hypervisor. 20 us brought 1.3 times the datagrams on a wire as memory, 50 us no more; at 10 GB/s they
// are a tenth of a socket's buffer.
const dozeNS = int64(20 * time.Microsecond)

// nap sleeps for dozeNS.
func nap() {
	t := unix.NsecToTimespec(dozeNS)
	syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// dozeLeast are the messages of a burst's time from which on a thread dozes, one in dozeNS: who sends fewer is not
// busy with waking.
const dozeLeast = int(burstNS / dozeNS)

// doze is whether a thread dozes, decided anew each burstNS by what came meanwhile.
type doze struct {
	does  bool
	came  int // messages
	bytes int
	calls int
	full  int   // calls that found as much as they could take
	next  int64 // ns of the engine's clock
}

// arrived takes note of a call that brought n messages, and tells whether to sleep after it. What comes as fast as
// it goes has no rate whose times of arrival are looked at one by one; a stack on this very CPU wakes the thread for
// nothing, and needs its time.
func (r *receiver) arrived(n int) (dozes bool) {
	k := r.calls
	d, now := &k.doze, r.engine.clock.now()
	d.came, d.bytes, d.calls = d.came+n, d.bytes+k.brought, d.calls+1
	if n == len(k.headers) {
		d.full++
	}
	if r.mark > 0 && k.trial.running() { // the warm-up was too short for it
		k.trial.end()
		k.polls = false
	}
	if now >= d.next {
		r.decide(now)
		*d = doze{does: d.does, next: now + burstNS}
	}
	return d.does && n > 0 && n < len(k.headers)
}

// decide chooses, by what came since the last time, how the thread waits, what becomes of what it has read, and its
// priority.
func (r *receiver) decide(now int64) {
	d, s, c := &r.calls.doze, r.inlets[0].socket, &r.config
	flat := c.BitsPerSecond == 0 && c.PacketsPerSecond == 0 && r.spread == nil
	busy := flat && d.came >= dozeLeast
	elsewhere := s.elsewhere()
	d.does = busy && elsewhere
	r.calls.rest.decide(s, d.does && d.pays(), c.Buffer == 0)
	joined := flat && r.calls.polls && d.bytes >= dozeLeast*c.Message // what waits for one that polls comes in fewer messages
	beside := (busy || joined) && s.connected && !s.own && !elsewhere
	r.calls.polls = r.toPoll(beside, now)
	alone := beside && (r.calls.polls || d.few(c.Message))
	r.calls.priority.decide(alone && !c.KeepPriority, r.calls.polls && r.calls.swift.is)
	if r.calls.polls && !r.calls.trial.running() {
		r.polled.Store(true)
	}
	if r.calls.priority.raised {
		r.raised.Store(true)
	}
}

// canPoll says whether a receiver can ask before it sleeps.
const canPoll = true

// oneThreadReadsMany says whether a thread can wait for several sockets.
const oneThreadReadsMany = true

// turn is one call on one socket, or one on each that is ready.
func (r *receiver) turn() (n int, err error) {
	if r.calls.poller == nil {
		n, err = r.await(r.inlets[0])
		if r.arrived(n) {
			nap()
		}
		return n, err
	}
	ready, errno := r.calls.poller.wait(r.calls.swift.is)
	if errno != 0 {
		return 0, fmt.Errorf("waiting for datagrams: %w", errno)
	}
	if ready == 0 {
		r.calls.swift.waited(r.engine.clock.now())
	}
	for i := range ready {
		in := r.inlets[r.calls.poller.events[i].Fd]
		got, err := r.read(in, unix.MSG_DONTWAIT)
		if err != nil {
			r.calls.poller.leave(in)
			return n, err
		}
		n += got
	}
	return n, nil
}

// pollNS is for how long a thread that polls asks again before it sleeps. Meanwhile the stack's thread, whose CPU it has, finds more to
// do at once, and nobody need wake either: on an AMD EPYC 30 us of it brought 1.27 times the datagrams of 1400 bytes; 60 us and more
// let the ring of a veth overflow (256 places).
const pollNS = int64(30 * time.Microsecond)

// await takes what comes on one socket.
func (r *receiver) await(in *inlet) (int, error) {
	k, clock := r.calls, r.engine.clock
	if k.priority.realTime && !k.swift.is { // a call that the runtime knows of may wait for a thread that has no CPU then
		k.priority.decide(false, false)
	}
	if k.polls {
		began := clock.now()
		now := began
		for ; now < began+pollNS && !r.engine.stop.Load(); now = clock.now() {
			if n, err := r.read(in, unix.MSG_DONTWAIT); n > 0 || err != nil {
				r.vain.Add(now - began)
				return n, err
			}
		}
		r.vain.Add(now - began)
	}
	return r.read(in, unix.MSG_WAITFORONE)
}

// read takes what is there on one socket.
func (r *receiver) read(in *inlet, flags uintptr) (int, error) {
	k := r.calls
	k.brought = 0
	n, errno := k.recvmmsg(uintptr(in.socket.fd), flags|k.rest.flags())
	switch {
	case errno == 0:
	case errno == unix.EAGAIN && flags&unix.MSG_DONTWAIT != 0:
		return 0, nil
	case errno == unix.EAGAIN || broughtBack(errno):
		k.swift.waited(r.engine.clock.now())
		return 0, in.silent()
	default:
		return 0, fmt.Errorf("receiving: %w", errno)
	}
	now := r.engine.clock.now()
	k.swift.ended(now)
	in.silences = 0
	r.thread.latch.lock()
	for i := range n {
		size := int(k.headers[i].Length)
		k.brought += size
		if size == 0 && r.engine.stop.Load() { // hurry ends a call as an empty datagram would
			continue
		}
		r.message(in, k.memory[i*k.size:][:min(size, k.size)], k.stride(i, size), &k.names[i], now)
	}
	r.thread.latch.unlock()
	k.rest.hold(in.socket, n, k.brought)
	return n, nil
}

// broughtBack tells that ICMP may have said it, of what this end has sent: of a receiver's answers the sender's end says more. So it
// calls what it has to say (icmp_err_convert in net/ipv4/icmp.c, icmpv6_err_convert in net/ipv6/icmp.c).
func broughtBack(errno syscall.Errno) bool {
	switch errno {
	case unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENONET, unix.ENOPROTOOPT, unix.EMSGSIZE, unix.EACCES, unix.EPROTO:
		return true
	}
	return false
}

// stride is the length of a message's datagrams: what UDP_GRO says in a control
// message, else the message's own.
//
//go:nosplit
func (k *intake) stride(i, size int) int {
	const header = unix.SizeofCmsghdr
	h := &k.headers[i].Header
	if h.Controllen < header+4 {
		return size
	}
	b := &k.controls[i]
	level, kind := binary.NativeEndian.Uint32(b[header-8:]), binary.NativeEndian.Uint32(b[header-4:])
	if level != unix.SOL_UDP || kind != unix.UDP_GRO {
		return size
	}
	if stride := int(binary.NativeEndian.Uint32(b[header:])); stride > 0 {
		return stride
	}
	return size
}

// recvmmsg fills as many messages as are there, at least one.
func (k *intake) recvmmsg(fd, flags uintptr) (int, syscall.Errno) {
	for i := range k.headers {
		h := &k.headers[i].Header
		h.Namelen, h.Controllen, h.Flags = unix.SizeofSockaddrInet6, controlSpace, 0
	}
	return recvmmsg(fd, k.headers, flags, k.swift.isRaw(flags))
}

func recvmmsg(fd uintptr, headers []traffic.Message, flags uintptr, raw bool) (int, syscall.Errno) {
	return call(raw, unix.SYS_RECVMMSG, fd, unsafe.Pointer(unsafe.SliceData(headers)), len(headers), flags)
}

func (s *socket) how() (method, why string) {
	if s.gro {
		return methodGRO, ""
	}
	return methodRecvmmsg, s.noGRO
}

// readyAtOnce is how many ready sockets one wait returns.
const readyAtOnce = 64

// poller lets one hot thread read many sockets, level-triggered. Events carry
// the place of the inlet.
type poller struct {
	fd     int
	events [readyAtOnce]unix.EpollEvent
}

func newPoller(inlets []*inlet) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an epoll set: %w", err)
	}
	p := &poller{fd: fd}
	for i, in := range inlets {
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, in.socket.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("adding a socket to an epoll set: %w", err)
		}
	}
	return p, nil
}

// leave has nobody wait for an inlet any more.
func (p *poller) leave(in *inlet) {
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, in.socket.fd, nil) // of a socket, that is in the set
}

// wait returns how many sockets are ready, 0 after patience. It is epoll_pwait
// because arm64 has no epoll_wait.
func (p *poller) wait(raw bool) (int, syscall.Errno) {
	return call(raw, unix.SYS_EPOLL_PWAIT, uintptr(p.fd), unsafe.Pointer(&p.events[0]), readyAtOnce, uintptr(patience.Milliseconds()))
}
