package stream

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// receiveBufferSize fits second-level caches and takes the largest aggregate (64
// KiB) twice. With twice the size, a read kept a CPU that also runs the
// interface's NAPI thread for so long that packets were lost: 6 % less arrived.
const receiveBufferSize = 128 << 10

// silenceLimit is how many calls in turn may end by patience before a thread
// gives its streams up: 5 s.
const silenceLimit = 50

var errSilent = errors.New("the peer stalled: nothing moved for 5 s")

// thread is one hot thread and its streams.
type thread struct {
	counter counter
	role    traffic.Role
	fds     []int
	cpu     int // -1: not pinned
	buffer  hotBuffer
	poller  *poller // nil for one stream
	tid     atomic.Int64
}

func newThread(role traffic.Role, fds []int, cpu int, b hotBuffer) (*thread, error) {
	t := &thread{role: role, fds: fds, cpu: cpu, buffer: b}
	interest := uint32(unix.EPOLLOUT)
	if role == traffic.Receive {
		interest = unix.EPOLLIN
	}
	if len(fds) == 1 {
		return t, nil
	}
	var err error
	t.poller, err = newPoller(fds, interest)
	return t, err
}

// newBuffers makes a buffer a thread: senders share one, which nobody writes.
func newBuffers(role traffic.Role, l load) []hotBuffer {
	buffers := make([]hotBuffer, l.threads)
	if role == traffic.Send {
		buffers[0] = newHotBuffer(l.message)
	}
	for i := range buffers {
		if role == traffic.Receive {
			buffers[i] = newHotBuffer(receiveBufferSize)
		} else {
			buffers[i] = buffers[0]
		}
	}
	return buffers
}

func (t *thread) close() {
	if t.poller != nil {
		unix.Close(t.poller.fd)
	}
}

// run is the goroutine of a thread. It ends without unlocking, so that the OS
// thread and its affinity end with it.
func (t *thread) run(ready func(), start <-chan struct{}, stop *atomic.Bool) error {
	runtime.LockOSThread()
	t.tid.Store(int64(unix.Gettid()))
	err := t.settle()
	ready()
	if err != nil {
		return err
	}
	<-start
	return t.work(stop)
}

func (t *thread) settle() error {
	if err := traffic.DeafenThread(); err != nil || t.cpu < 0 {
		return err
	}
	return traffic.PinThread(t.cpu)
}

// work repeats bursts until a stop, the end of all streams, or an error.
func (t *thread) work(stop *atomic.Bool) error {
	before := uint64(0)
	for open := len(t.fds); open > 0 && !stop.Load(); {
		eof, errno := t.burst(stop)
		open -= eof
		if moved := t.counter.bytes.Load(); moved != before {
			before = moved
			t.counter.silent.Store(0)
		}
		if err := t.judge(errno); err != nil {
			return err
		}
	}
	return nil
}

func (t *thread) burst(stop *atomic.Bool) (eof int, errno syscall.Errno) {
	switch {
	case t.role == traffic.Send && t.poller == nil:
		return 0, sendBurst(uintptr(t.fds[0]), t.buffer, &t.counter, stop)
	case t.role == traffic.Send:
		return 0, sendMany(t.poller, t.buffer, &t.counter, stop)
	case t.poller == nil:
		ended, errno := receiveBurst(uintptr(t.fds[0]), t.buffer, &t.counter, stop)
		if ended {
			eof = 1
		}
		return eof, errno
	}
	ended, errno := receiveMany(t.poller, t.buffer, &t.counter, stop)
	if ended >= 0 {
		t.poller.remove(ended)
		eof = 1
	}
	return eof, errno
}

func (t *thread) judge(errno syscall.Errno) error {
	switch errno {
	case 0:
		return nil
	case unix.EAGAIN:
		if t.counter.silent.Add(1) >= silenceLimit {
			return errSilent
		}
		return nil
	case unix.EPIPE, unix.ECONNRESET:
		return fmt.Errorf("the peer went away: %w", errno)
	}
	return fmt.Errorf("moving bytes: %w", errno)
}
