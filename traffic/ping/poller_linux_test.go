package ping

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// TestPollerWaits does it both ways: with the exact call, and with the old one of
// systems that lack it. The scheduler's signals would end a wait early.
func TestPollerWaits(t *testing.T) {
	for name, coarse := range map[string]bool{"to the ns": false, "to the ms": true} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // and never unlocked, as hot threads are
			if err := traffic.DeafenThread(); err != nil {
				t.Fatal(err)
			}
			var ends [2]int
			if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			defer closeAll(ends[:])
			p, err := newPoller(ends[:1])
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			p.coarse = coarse
			began := time.Now()
			if n, e := p.wait(3e6); n != 0 || e != 0 || time.Since(began) < 3*time.Millisecond {
				t.Errorf("nothing was ready: %d, %v after %s", n, e, time.Since(began))
			}
			unix.Write(ends[1], []byte{1})
			if n, e := p.wait(10e9); n != 1 || e != 0 || p.events[0].Fd != 0 {
				t.Errorf("one was ready: %d, %v", n, e)
			}
		})
	}
}
