package stream

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// receiveBufferSize fits second-level caches and takes the largest aggregate (64
// KiB) twice. With twice the size, a read kept a CPU that also runs the
// interface's NAPI thread for so long that packets were lost: 6 % less arrived.
const receiveBufferSize = 128 << 10

// bulkBufferSize is for a flow alone of which so much comes that its receiver waits for more than receiveBufferSize: it
// takes that in one call, at 0.98 of the CPU time a byte (AMD EPYC, 2 GB/s). On an Intel Xeon, whose receivers got
// less and were woken for whatever came, such calls had lost 6 to 12 %.
const bulkBufferSize = 256 << 10

// thread is one hot thread and its flows.
type thread struct {
	role         traffic.Role
	crew         *crew   // that it is of
	flows        []*flow // as they were dealt; the poller knows them by index
	open         []*flow // those that have not ended
	cpu          int     // -1: not pinned
	buffer       hotBuffer
	batch        batch
	splicer      *splicer // nil: not by splice
	sendFlags    uintptr
	receiveFlags uintptr
	bound        int   // calls of a burst
	until        int64 // ns of the coarse clock: when the burst ends at the latest
	tick         unix.Timespec
	gentle       bool    // calls are few: see await
	waits        bool    // for enough to be there: see lowWater
	prompt       bool    // it waits for anything, whatever the rate
	water        int     // bytes: what it waits for now
	small        bool    // its messages are
	call         uintptr // bytes of a receiving call
	least        uintptr // of it, however little comes; more up to the buffer
	dozes        bool    // for nap, after each call that did not fill
	nap          unix.Timespec
	trial        dozeTrial // of small messages
	slept        bool      // paced: it slept before it looks at its buckets
	poller       *poller   // nil for one flow, and for paced ones
	together     bool
	silence      uint64        // calls in turn without a byte; 0: for ever
	limit        time.Duration // the same in time
	silent       atomic.Uint64 // how many there were
	queue        backlog
	clock        traffic.ThreadClock
}

// crewSize is how many threads serve so many flows.
func crewSize(threads, flows int) int { return min(threads, flows) }

func holdHot(threads int) (release func()) { return traffic.HoldHot(threads) }

func newThread(e *Engine, role traffic.Role, flows []*flow) (*thread, error) {
	t := &thread{role: role, flows: flows, open: slices.Clone(flows), together: e.config.FailTogether, bound: 1, sendFlags: unix.MSG_NOSIGNAL, trial: newDozeTrial()}
	t.crew = &crew{threads: []*thread{t}} // until it joins a larger one
	if e.config.Silence > 0 {
		t.limit = e.config.Silence
		t.silence = uint64(max(1, e.config.Silence/patience))
	}
	if e.config.Copy == CopyZero {
		t.sendFlags |= unix.MSG_ZEROCOPY
	}
	interest := uint32(unix.EPOLLIN)
	switch {
	case role == traffic.Send:
		t.buffer, interest = e.source.buffer, unix.EPOLLOUT
	case e.config.Discard:
		t.buffer, t.receiveFlags = hotBuffer{size: uintptr(e.config.receiveSize(discardSize))}, unix.MSG_TRUNC
		t.least = t.buffer.size
	default:
		size := e.config.receiveSize(receiveBufferSize)
		t.least = uintptr(size)
		if len(flows) == 1 {
			size = e.config.receiveSize(bulkBufferSize)
		}
		t.buffer = newHotBuffer(size, nil)
	}
	if role == traffic.Send && e.source.file >= 0 {
		for _, f := range flows {
			f.file = uintptr(e.source.file)
		}
	}
	if role == traffic.Send && e.config.Copy == "" && flows[0].bucket == nil {
		t.batch = newBatch(t.buffer)
	}
	if role == traffic.Send && e.source.stock != nil {
		var err error
		if t.splicer, err = newSplicer(e.source.stock); err != nil {
			return nil, err
		}
	}
	t.waits = role == traffic.Receive && len(flows) == 1
	t.prompt = e.config.Prompt
	t.small, t.call = e.config.Message <= smallMessage, t.least
	if err := t.poll(interest); err != nil {
		t.close() // of its splicer's pipe, too
		return nil, err
	}
	return t, nil
}

// discardSize is how much one discarding call takes at most: all that waits.
const discardSize = 1 << 20

// poll makes the poller of a thread with many flows, whose calls may not block.
// sendfile and splice have no flag for that, so the sockets get it.
func (t *thread) poll(interest uint32) (err error) {
	if len(t.flows) > 1 || t.flows[0].bucket != nil {
		for _, f := range t.flows {
			if err := unix.SetNonblock(int(f.fd), true); err != nil {
				return fmt.Errorf("making a socket unblocking: %w", err)
			}
		}
	}
	if len(t.flows) > 1 && t.flows[0].bucket == nil {
		t.poller, err = newPoller(t.flows, interest)
	}
	return err
}

func (t *thread) close() {
	if t.poller != nil {
		unix.Close(t.poller.fd)
	}
	if t.splicer != nil {
		t.splicer.close()
	}
}

// run is the goroutine of a thread. It ends without unlocking, so that the OS
// thread and its affinity end with it.
func (t *thread) run(ready func(), start <-chan struct{}, stop *traffic.Stop) error {
	runtime.LockOSThread()
	t.clock.Begin()
	defer t.clock.End()
	err := t.settle()
	ready()
	if err != nil {
		return err
	}
	<-start
	return t.work(stop)
}

func (t *thread) settle() error {
	if err := errors.Join(traffic.DeafenThread(), traffic.SharpenThread()); err != nil || t.cpu < 0 {
		return err
	}
	return traffic.PinThread(t.cpu)
}

// work repeats bursts until a stop, the end of all flows, or an error that ends
// them all.
func (t *thread) work(stop *traffic.Stop) error {
	var failures []error
	for len(t.open) > 0 && !stop.Load() {
		o, err := t.burst(stop)
		if o.ended && t.role == traffic.Send && o.flow.budget.Await(stop) {
			continue
		}
		if o.flow != nil && (o.ended || err != nil) {
			t.drop(o.flow, err)
		} else if err != nil {
			t.dropAll(err)
		}
		if err != nil {
			failures = append(failures, err)
			if t.together {
				break
			}
		}
	}
	return errors.Join(failures...)
}

// burst makes one burst and what belongs to it: it learns how long the next may
// be, notes silence, and reads completions.
func (t *thread) burst(stop *traffic.Stop) (burstEnd, error) {
	began, calls, bytes := time.Now(), t.calls(), t.moved()
	if t.gentle {
		if ready, err := t.await(); err != nil || !ready {
			if t.waits {
				t.lowWater(patience, 0) // less than that may lie there
			}
			return burstEnd{}, errors.Join(err, t.judge(unix.EAGAIN))
		}
	}
	o := t.calling(stop)
	took, moved := time.Since(began), t.moved()-bytes
	t.learn(took, t.calls()-calls)
	if moved > 0 {
		t.silent.Store(0)
	}
	if t.waits {
		t.wait(took, moved)
	}
	if o.flow == nil || o.flow.zero == nil || o.errno != 0 && o.errno != unix.ENOBUFS {
		return o, t.judge(o.errno)
	}
	return o, o.flow.zero.settle(o.flow.fd, o.errno == unix.ENOBUFS)
}

func (t *thread) calling(stop *traffic.Stop) burstEnd {
	t.begin()
	switch {
	case t.role == traffic.Send && t.flows[0].bucket != nil:
		return t.sendPaced(stop)
	case t.role == traffic.Send && t.poller == nil:
		return t.sendBurst(t.flows[0], stop)
	case t.role == traffic.Send:
		return t.sendMany(stop)
	case t.poller == nil:
		return t.receiveBurst(t.flows[0], stop)
	}
	return t.receiveMany(stop)
}

func (t *thread) calls() (calls uint64) {
	for _, f := range t.flows {
		calls += f.calls.Load()
	}
	return calls
}

func (t *thread) moved() (bytes uint64) {
	for _, f := range t.flows {
		bytes += f.bytes.Load()
	}
	return bytes
}

// drop leaves a flow out; its socket stays open until the engine closes.
func (t *thread) drop(f *flow, err error) {
	f.end(err)
	if t.poller != nil {
		t.poller.remove(f)
	}
	t.open = slices.DeleteFunc(t.open, func(o *flow) bool { return o == f })
}

func (t *thread) dropAll(err error) {
	for _, f := range t.open {
		f.end(err)
	}
	t.open = nil
}

func (t *thread) judge(errno syscall.Errno) error {
	switch errno {
	case 0:
		return nil
	case unix.EAGAIN:
		if t.role == traffic.Send && t.queue.shrinks(t.open) {
			t.silent.Store(0)
			return nil
		}
		t.silent.Add(1)
		if t.silence > 0 && t.crew.silent() >= t.silence {
			return fmt.Errorf("the peer stalled: nothing moved for %g s", t.limit.Seconds())
		}
		return nil
	case unix.EPIPE, unix.ECONNRESET:
		return fmt.Errorf("the peer went away: %w", errno)
	}
	return fmt.Errorf("moving bytes: %w", errno)
}
