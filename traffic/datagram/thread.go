package datagram

import (
	"sync/atomic"
	"time"

	"windtunnel/traffic"
)

// thread is one hot thread; either send or receive is set.
type thread struct {
	engine  *Engine
	cpu     int // -1: not pinned
	tid     atomic.Int64
	used    atomic.Int64 // ns of CPU, by the thread's own reading
	waited  atomic.Int64 // ns without a CPU, when it ended
	latch   latch
	send    *sender
	receive *receiver
}

const (
	// patience bounds every blocking call of a hot thread, so that it sees a stop
	// and lets the runtime's other work pass.
	patience = 100 * time.Millisecond
	// burstNS is for how long a thread stays in its hot loop before it looks after
	// its CPU time and, at a receiver, silence.
	burstNS = int64(20 * time.Millisecond)
)

func (t *thread) settle() error {
	t.tid.Store(int64(traffic.ThreadID()))
	if err := traffic.DeafenThread(); err != nil {
		return err
	}
	if err := traffic.SharpenThread(); err != nil || t.cpu < 0 {
		return err
	}
	return traffic.PinThread(t.cpu)
}

// work repeats bursts until a stop, the end of all flows, or an error.
func (t *thread) work() error {
	if t.send != nil {
		return t.send.work()
	}
	return t.receive.work()
}

func (t *thread) close() {
	if t.receive != nil {
		t.receive.close()
	}
}

// keepCPU notes what the thread has used; the thread itself calls it.
func (t *thread) keepCPU() {
	if used, err := traffic.CurrentThreadCPU(); err == nil {
		t.used.Store(int64(used))
	}
}

// gone keeps what cannot be read of a thread that has ended; its number may then
// be another's.
func (t *thread) gone() {
	t.keepCPU()
	t.waited.Store(int64(t.waitTime()))
	t.tid.Store(-1)
}

// cpuTime is what the thread has used so far, or had when it ended.
func (t *thread) cpuTime() time.Duration {
	kept := time.Duration(t.used.Load())
	if tid := t.tid.Load(); tid > 0 {
		if used, err := traffic.ThreadCPU(int(tid)); err == nil {
			return max(used, kept)
		}
	}
	return kept
}

// waitTime is how long the thread could run and had no CPU, likewise; 0 where the
// system does not tell.
func (t *thread) waitTime() time.Duration {
	if tid := t.tid.Load(); tid > 0 {
		if waited, err := traffic.ThreadWait(int(tid)); err == nil {
			return waited
		}
	}
	return time.Duration(t.waited.Load())
}
