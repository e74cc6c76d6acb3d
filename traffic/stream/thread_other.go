//go:build !linux

package stream

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"windtunnel/traffic"
)

// receiveBufferSize is as on Linux.
const receiveBufferSize = 128 << 10

// longWrite is from how many ns on a call has waited for room in its socket, and not only worked.
const longWrite = 500_000

// sampleEvery is how often a thread notes its CPU time for others to read.
const sampleEvery = 5 * time.Millisecond

// thread is one hot thread and its flow.
type thread struct {
	role    traffic.Role
	crew    *crew // that it is of
	flow    *flow
	cpu     int // -1: not pinned
	buffer  []byte
	slept   bool          // before it looks at the bucket
	silence time.Duration // without a byte; 0: for ever
	silent  atomic.Uint64 // calls in turn that patience ended
	clock   traffic.ThreadClock
	sampled time.Time
}

// crewSize is a thread a flow: a call of net waits for one connection.
func crewSize(_, flows int) int { return flows }

// holdHot has nothing to do: net's calls leave the scheduler free.
func holdHot(int) (release func()) { return func() {} }

func newThread(e *Engine, role traffic.Role, flows []*flow) (*thread, error) {
	t := &thread{role: role, flow: flows[0], silence: max(0, e.config.Silence)}
	if role == traffic.Send {
		t.buffer = bytesOf(e.source.buffer)
	} else {
		t.buffer = make([]byte, e.config.receiveSize(receiveBufferSize))
	}
	return t, nil
}

// bytesOf is a buffer as net takes it.
func bytesOf(b hotBuffer) []byte { return unsafe.Slice((*byte)(b.at), b.size) }

func (t *thread) close() {}

// run is the goroutine of a thread. It ends without unlocking, so that the OS
// thread and its affinity end with it.
func (t *thread) run(ready func(), start <-chan struct{}, stop *traffic.Stop) error {
	runtime.LockOSThread()
	t.clock.Begin()
	defer t.clock.End()
	var err error
	if t.cpu >= 0 && traffic.CanPin() {
		err = traffic.PinThread(t.cpu)
	}
	ready()
	if err != nil {
		return err
	}
	<-start
	err = t.work(stop)
	t.flow.end(err)
	return err
}

// work makes calls until a stop, the flow's end, or an error.
func (t *thread) work(stop *traffic.Stop) error {
	moved := time.Now()
	for now := moved; !stop.Load(); now = time.Now() {
		if now.Sub(t.sampled) > sampleEvery {
			t.sampled = now
			t.clock.Sample()
		}
		t.flow.bound(now)
		n, ended, err := t.call(stop)
		if n > 0 {
			moved = now
			t.silent.Store(0)
			t.flow.count(uintptr(n))
		}
		switch {
		case ended || errors.Is(err, io.EOF):
			return nil
		case late(err):
			t.silent.Add(1)
			if t.silence > 0 && now.Sub(moved) > t.silence && t.crew.silent() >= uint64(t.silence/patience) {
				return fmt.Errorf("the peer stalled: nothing moved for %g s", t.silence.Seconds())
			}
		case err != nil:
			return wentAway(err)
		}
	}
	return nil
}

// wentAway names what a peer's reset looks like.
func wentAway(err error) error {
	for _, reason := range gone {
		if errors.Is(err, reason) {
			return fmt.Errorf("the peer went away: %w", err)
		}
	}
	return fmt.Errorf("moving bytes: %w", err)
}

func (t *thread) call(stop *traffic.Stop) (n int, ended bool, err error) {
	if t.role == traffic.Receive {
		most := int(t.flow.budget.Take(int64(len(t.buffer))))
		if most == 0 {
			return 0, true, nil
		}
		n, err = t.flow.conn.Read(t.buffer[:most])
		t.flow.budget.GiveBack(int64(most - n))
		return n, false, err
	}
	size := t.pause(stop)
	if size == 0 {
		return 0, false, nil
	}
	if size = int(t.flow.budget.Take(int64(size))); size == 0 {
		return 0, !t.flow.budget.Await(stop), nil
	}
	before := clock()
	n, err = t.flow.conn.Write(t.buffer[:size])
	t.flow.budget.GiveBack(int64(size - n))
	if t.flow.bucket != nil {
		now := clock()
		t.flow.full = now-before > longWrite
		t.flow.bucket.Take(n, now)
		t.flow.took()
		t.flow.rest -= n
	}
	return n, false, err
}

// pause waits for the bucket, by half of the patience at most, and returns how
// much may be sent then: 0 for nothing yet.
func (t *thread) pause(stop *traffic.Stop) int {
	f := t.flow
	if f.bucket == nil {
		return len(t.buffer)
	}
	if f.rest == 0 {
		wait := time.Duration(f.bucket.Wait(f.piece, clock()))
		f.spill(t.slept)
		if t.slept = wait > 0; t.slept {
			stop.Sleep(min(wait, patience/2).Nanoseconds())
			return 0
		}
		f.rest = f.piece
	}
	return min(f.rest, len(t.buffer))
}
