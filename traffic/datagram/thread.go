package datagram

import (
	"time"

	"windtunnel/traffic"
)

// thread is one hot thread; either send or receive is set.
type thread struct {
	engine  *Engine
	cpu     int // -1: not pinned
	clock   traffic.ThreadClock
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
	t.clock.Begin()
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
