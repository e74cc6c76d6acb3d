package traffic

import (
	"sync/atomic"
	"time"
)

// ThreadClock is a hot thread's CPU time and its wait for a CPU, which others may
// read, also before the thread has begun and when it has ended. Where a thread's
// clock cannot be read from outside, the thread samples it.
type ThreadClock struct {
	tid   atomic.Int64 // 0: not begun
	ended atomic.Bool
	cpu   atomic.Int64 // ns
	wait  atomic.Int64 // ns
}

// Begin, Sample and End are the thread's own. A thread that begins later may have the clock of one that has ended.
func (c *ThreadClock) Begin() {
	c.cpu.Store(0)
	c.wait.Store(0)
	c.tid.Store(int64(ThreadID()))
	c.ended.Store(false)
}

func (c *ThreadClock) Sample() {
	if cpu, err := CurrentThreadCPU(); err == nil {
		c.cpu.Store(int64(cpu))
	}
}

func (c *ThreadClock) End() {
	c.Sample()
	if wait, err := ThreadWait(ThreadID()); err == nil {
		c.wait.Store(int64(wait))
	}
	c.ended.Store(true)
}

// Thread is the thread's number, 0 while it does not run: a number may become another thread's.
func (c *ThreadClock) Thread() int {
	if c.ended.Load() {
		return 0
	}
	return int(c.tid.Load())
}

// CPU is what the thread has used so far, or had when it ended.
func (c *ThreadClock) CPU() time.Duration {
	now := c.now(ThreadCPU)
	return max(now, time.Duration(c.cpu.Load()))
}

// Wait is how long the thread could run and had no CPU, likewise; 0 where the system does not tell.
func (c *ThreadClock) Wait() time.Duration {
	now := c.now(ThreadWait)
	return max(now, time.Duration(c.wait.Load()))
}

// now reads a clock of the thread while it runs, else 0.
func (c *ThreadClock) now(read func(tid int) (time.Duration, error)) time.Duration {
	tid := c.Thread()
	if tid == 0 {
		return 0
	}
	now, err := read(tid)
	if err != nil || c.ended.Load() {
		return 0
	}
	return now
}
