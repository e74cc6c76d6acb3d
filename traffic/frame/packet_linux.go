package frame

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/ktime"
	"windtunnel/result"
	"windtunnel/traffic"
)

const (
	packetBatch = 64 // frames in one call
	// patience bounds every blocking call, so that a hot thread sees a stop.
	patience = 100 * time.Millisecond
	// shortestSleep is about what waking up takes; who sleeps for less oversleeps.
	shortestSleep = 20 * time.Microsecond
)

// packetSocket sends frames by an AF_PACKET socket, past the queueing discipline.
type packetSocket struct {
	fd       int
	stamp    stamp
	frames   [packetBatch][]byte
	numbers  [packetBatch]number
	vectors  [packetBatch]unix.Iovec
	messages [packetBatch]traffic.Message
	first    uint32
	end      uint32
	next     number // its phase is set for each frame
	phase    atomic.Uint32
	stopped  traffic.Stop
	begin    chan struct{}
	flow     func() // closes begin, once
	thread   traffic.ThreadClock
	called   atomic.Uint64
	tally    [phases]struct{ sent, refused atomic.Uint64 }
	down     atomic.Int64 // ns for which the device was down
	failed   int64        // when it last was found so, ns; 0: it is not
	bucket   pacing
	delayed  time.Duration    // of its first frame
	slept    bool             // since the bucket was last asked
	lost     atomic.Int64     // ns of the rate that it slept through
	telling  int64            // from when a frame tells when it left, ns
	moved    int64            // by how much this process's clock is later than the sinks', ns
	lag      *result.Recorder // nil without a rate
}

func newPacketSocket(h header, out device, first, end uint32) (*packetSocket, error) {
	fd, err := openPacket(out.index, 0)
	if err != nil {
		return nil, err
	}
	// Frames go to the device at once and are refused when it has no room;
	// without, they would wait in a queue that is not the path's.
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("passing by the queueing discipline of %s: %w", out.name, err)
	}
	s, template := newStamp(h)
	p := &packetSocket{fd: fd, stamp: s, first: first, end: end, begin: make(chan struct{}), moved: int64(ktime.Open().Moved())}
	p.next.flow = first
	p.flow = sync.OnceFunc(func() { close(p.begin) })
	for i := range p.frames {
		p.frames[i] = append([]byte(nil), template...)
		p.vectors[i].Base = unsafe.SliceData(p.frames[i])
		p.vectors[i].SetLen(len(template))
		p.messages[i].Header.Iov = &p.vectors[i]
		p.messages[i].Header.SetIovlen(1)
	}
	return p, nil
}

func (p *packetSocket) rate(perSecond float64, burst int) {
	if perSecond > 0 {
		p.bucket.interval = 1e9 / perSecond
		p.bucket.depth = p.bucket.interval * float64(burst-1)
		p.lag = result.NewRecorder()
	}
}

func (p *packetSocket) delay(by time.Duration) { p.delayed = by }

func (p *packetSocket) release() {
	p.begins(monotonic())
	p.flow()
}

// begins lets the first frame be due from a time on.
func (p *packetSocket) begins(now int64) { p.bucket.epoch, p.bucket.due = now, float64(p.delayed) }

func (p *packetSocket) setPhase(phase uint32) { p.phase.Store(phase) }

func (p *packetSocket) interrupt() {
	p.stopped.Ask()
	p.flow()
}

// work is the hot thread's.
func (p *packetSocket) work() error {
	p.thread.Begin()
	defer p.thread.End()
	if err := traffic.DeafenThread(); err != nil {
		return err
	}
	<-p.begin
	for !p.stopped.Load() {
		wait, errno := p.burst()
		switch errno {
		case 0, unix.EAGAIN, unix.EINTR:
		default:
			return notSent(errno)
		}
		p.stopped.Sleep(wait)
	}
	return nil
}

const tooLong = ": the interface's MTU is smaller than these frames need; was it lowered meanwhile?"

// notSent says what a send's error means (net/packet/af_packet.c, packet_snd).
func notSent(errno syscall.Errno) error {
	why := ""
	switch errno {
	case unix.EMSGSIZE:
		why = tooLong
	case unix.ENXIO, unix.ENODEV:
		why = ": the interface is gone"
	}
	return fmt.Errorf("sending frames by AF_PACKET: %w%s", errno, why)
}

const burstCalls = 1 << 12

// longWait is from what wait on a thread sleeps so that a stop wakes it and others may stop the world; the rest is slept
// to the point.
const longWait = int64(5 * time.Millisecond)

// burst is hot (see stream's loops): it returns now and then, so that the world can stop, and where it is to wait for long.
//
//go:nosplit
func (p *packetSocket) burst() (wait int64, errno syscall.Errno) {
	for calls := 0; calls < burstCalls && !p.stopped.Load(); calls++ {
		now := monotonic()
		frames, wait := p.ready(now)
		if frames == 0 {
			if wait > longWait {
				return wait - longWait/2, 0
			}
			p.sleep(now + wait)
			continue
		}
		if errno := p.send(frames, now); errno != 0 {
			return 0, errno
		}
	}
	return 0, 0
}

// ready is the bucket's, and counts what is given up after a sleep: no path had a part in that.
//
//go:nosplit
func (p *packetSocket) ready(now int64) (frames int, wait int64) {
	forgone := p.bucket.forgone
	frames, wait = p.bucket.ready(now)
	if p.slept {
		p.lost.Add(int64(p.bucket.forgone - forgone))
	}
	p.slept = frames == 0
	return frames, wait
}

//go:nosplit
func (p *packetSocket) sleep(until int64) {
	until = max(until, monotonic()+int64(shortestSleep))
	at := unix.Timespec{Sec: until / 1e9, Nsec: until % 1e9}
	const absolute = 1 // TIMER_ABSTIME
	syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, absolute, uintptr(unsafe.Pointer(&at)), 0, 0, 0)
}

// send hands frames over in one call. What was not taken is numbered again.
//
//go:nosplit
func (p *packetSocket) send(frames int, now int64) syscall.Errno {
	phase := p.phase.Load()
	n := p.next
	n.phase = uint8(phase)
	for i := range frames {
		p.numbers[i] = n
		p.vectors[i].SetLen(p.stamp.write(p.frames[i], p.told(n, now)))
		if n.flow++; n.flow == p.end {
			n.flow = p.first
			n.sequence++
		}
	}
	sent, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(p.fd), uintptr(unsafe.Pointer(&p.messages)), uintptr(frames), 0, 0, 0)
	p.called.Add(1)
	switch {
	case errno == unix.ENOBUFS:
		p.tally[phase].refused.Add(1)
		p.pass(0, 1, now, phase)
		return 0
	case errno == unix.ENETDOWN && phase != probing: // it may come up again; of one that is gone the kernel says ENXIO
		p.stayDown(now)
		p.tally[phase].refused.Add(1)
		p.pass(0, 1, now, phase)
		return 0
	case errno != 0:
		return errno
	}
	p.comeUp(now)
	refused := 0
	if int(sent) < frames { // the next one was refused, whose error is not told
		n = p.numbers[sent]
		p.tally[phase].refused.Add(1)
		refused = 1
	}
	p.next = n
	p.tally[phase].sent.Add(uint64(sent))
	p.pass(int(sent), refused, now, phase)
	return 0
}

// downPause is how long a sender without a rate waits before it tries a device again that is down, in ns.
const downPause = int64(time.Millisecond)

//go:nosplit
func (p *packetSocket) stayDown(now int64) {
	p.comeUp(now)
	if p.failed = now; p.bucket.interval == 0 {
		p.sleep(now + downPause)
	}
}

// comeUp counts what has passed since the device was last found down.
//
//go:nosplit
func (p *packetSocket) comeUp(now int64) {
	if p.failed != 0 {
		p.down.Add(now - p.failed)
		p.failed = 0
	}
}

// missed is how much of the rate was given up because the thread woke too late.
func (p *packetSocket) missed() time.Duration { return time.Duration(p.lost.Load()) }

// away is for how long the device was down while frames were to be sent.
func (p *packetSocket) away() time.Duration { return time.Duration(p.down.Load()) }

// told is a number that also tells when its frame leaves, if it is time for one that does.
//
//go:nosplit
func (p *packetSocket) told(n number, now int64) number {
	if !p.stamp.stamped || p.bucket.interval == 0 || now < p.telling {
		return n
	}
	p.telling = now + int64(p.stamp.apart)
	n.sequence |= left(now-p.moved) << leftShift
	return n
}

// pass spends the frames' time, and notes how late those of the window were that left.
//
//go:nosplit
func (p *packetSocket) pass(sent, refused int, now int64, phase uint32) {
	if p.bucket.interval == 0 {
		return
	}
	for i := range sent + refused {
		if phase == window && i < sent {
			p.lag.Record(now - p.bucket.epoch - int64(p.bucket.due-p.bucket.forgone))
		}
		p.bucket.forgone = 0
		p.bucket.due += p.bucket.interval
	}
}

func (p *packetSocket) counts(phase int) (sent, refused uint64) {
	return p.tally[phase].sent.Load(), p.tally[phase].refused.Load()
}

// skipped: the number of what was not taken is the next frame's.
func (p *packetSocket) skipped() uint64 { return 0 }

func (p *packetSocket) calls() uint64 { return p.called.Load() }

func (p *packetSocket) clock() *traffic.ThreadClock { return &p.thread }

// probe sends some frames that are only counted. The numbering begins anew.
func (p *packetSocket) probe(frames int) error {
	p.phase.Store(probing)
	defer func() {
		p.phase.Store(warmUp)
		p.next = number{flow: p.first}
	}()
	for left := frames; left > 0; left -= packetBatch {
		if errno := p.send(min(left, packetBatch), 0); errno != 0 {
			return notSent(errno)
		}
	}
	return nil
}

func (p *packetSocket) close() error { return unix.Close(p.fd) }
