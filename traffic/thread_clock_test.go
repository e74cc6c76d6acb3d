package traffic

import (
	"runtime"
	"testing"
	"time"
)

// TestAThreadsClockStaysWhenItHasEnded, and is another's when that begins with it.
func TestAThreadsClockStaysWhenItHasEnded(t *testing.T) {
	var c ThreadClock
	if c.Thread() != 0 || c.CPU() != 0 || c.Wait() != 0 {
		t.Errorf("before it began: thread %d, %s, %s", c.Thread(), c.CPU(), c.Wait())
	}
	const works = 20 * time.Millisecond
	run := func() (worked time.Duration) { // by the thread's own clock, which may have been another's before
		began, done := make(chan bool), make(chan bool)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends
			c.Begin()
			defer func() { c.End(); close(done) }()
			close(began)
			begin, err := CurrentThreadCPU()
			for worked = begin; err == nil && worked < begin+works; {
				worked, err = CurrentThreadCPU()
			}
			c.Sample()
		}()
		<-began
		<-done
		return worked
	}
	worked := run()
	if _, err := CurrentThreadCPU(); err != nil {
		t.Skipf("skip: %v", err)
	}
	cpu, wait := c.CPU(), c.Wait()
	if c.Thread() != 0 || cpu < worked {
		t.Errorf("ended: thread %d, %s of CPU", c.Thread(), cpu)
	}
	if later := c.CPU(); later != cpu || c.Wait() != wait {
		t.Errorf("a thread that has ended went on: %s, then %s", cpu, later)
	}
	if worked, again := run(), c.CPU(); again < worked || again > worked+works {
		t.Errorf("the next thread has %s, it worked for %s, the one before had %s", again, worked, cpu)
	}
}
