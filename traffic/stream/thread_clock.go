package stream

import (
	"sync/atomic"
	"time"

	"windtunnel/traffic"
)

// threadClock is a hot thread's CPU time and its wait for a CPU, which others may
// read, also when the thread has ended. Where a thread's clock cannot be read
// from outside, the thread samples it.
type threadClock struct {
	tid   atomic.Int64
	ended atomic.Bool
	cpu   atomic.Int64 // ns
	wait  atomic.Int64 // ns
}

// begin, sample and end are the thread's own.
func (c *threadClock) begin() { c.tid.Store(int64(traffic.ThreadID())) }

func (c *threadClock) sample() {
	if cpu, err := traffic.CurrentThreadCPU(); err == nil {
		c.cpu.Store(int64(cpu))
	}
}

func (c *threadClock) end() {
	c.sample()
	if wait, err := traffic.ThreadWait(int(c.tid.Load())); err == nil {
		c.wait.Store(int64(wait))
	}
	c.ended.Store(true)
}

// read returns 0 for a wait that this system does not tell.
func (c *threadClock) read() (cpu, wait time.Duration) {
	tid := int(c.tid.Load())
	if !c.ended.Load() {
		now, err := traffic.ThreadCPU(tid)
		waited, errWait := traffic.ThreadWait(tid)
		if err == nil && errWait == nil && !c.ended.Load() {
			return now, waited
		}
		if err == nil && !c.ended.Load() {
			return now, 0
		}
	}
	return time.Duration(c.cpu.Load()), time.Duration(c.wait.Load())
}
