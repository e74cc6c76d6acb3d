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
	run := func() {
		began, done := make(chan bool), make(chan bool)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends
			c.Begin()
			defer func() { c.End(); close(done) }()
			close(began)
			for now := time.Duration(0); now < works; now, _ = CurrentThreadCPU() {
				if _, err := CurrentThreadCPU(); err != nil {
					return
				}
			}
			c.Sample()
		}()
		<-began
		<-done
	}
	run()
	if _, err := CurrentThreadCPU(); err != nil {
		t.Skipf("skip: %v", err)
	}
	cpu, wait := c.CPU(), c.Wait()
	if c.Thread() != 0 || cpu < works {
		t.Errorf("ended: thread %d, %s of CPU", c.Thread(), cpu)
	}
	if later := c.CPU(); later != cpu || c.Wait() != wait {
		t.Errorf("a thread that has ended went on: %s, then %s", cpu, later)
	}
	run()
	if again := c.CPU(); again < works || again > cpu+works {
		t.Errorf("the next thread has %s, the one before had %s", again, cpu)
	}
}
