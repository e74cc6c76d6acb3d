package stream

import (
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// fullPause is for how long a paced thread leaves a socket alone that took
// nothing more.
const fullPause = 500 * time.Microsecond

// clock is the clock of buckets: CLOCK_MONOTONIC, in ns.
func clock() int64 {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // vDSO; it cannot fail
	return now.Nano()
}

// sendPaced lets each flow send a piece whenever its bucket has one, and sleeps
// until the next. It is not nosplit: it sleeps most of its time, and gives way as
// other code does.
func (t *thread) sendPaced(stop *traffic.Stop) burstEnd {
	began, moved, full := clock(), false, false
	for now := began; !stop.Load(); now = clock() {
		if now-began > patience.Nanoseconds() {
			if full && !moved {
				return burstEnd{errno: unix.EAGAIN}
			}
			return burstEnd{}
		}
		wake := now + patience.Nanoseconds()
		for _, f := range t.open {
			next, took, o := t.piece(f, now)
			if o.flow != nil {
				return o
			}
			moved, full = moved || took > 0, full || next < 0
			if next < 0 {
				next = fullPause.Nanoseconds()
			}
			wake = min(wake, now+next)
		}
		pause := wake - clock()
		t.slept = pause > 0 // and so none was late before
		stop.Sleep(pause)
	}
	return burstEnd{}
}

// piece sends what the flow's bucket has; next is for how long it need not be
// asked again, below 0 because its socket is full.
func (t *thread) piece(f *flow, now int64) (next int64, took uintptr, _ burstEnd) {
	for {
		if f.rest == 0 {
			wait := f.bucket.Wait(f.piece, now)
			f.spill(t.slept)
			if wait > 0 {
				return wait, took, burstEnd{}
			}
			f.rest = f.piece
		}
		if f.zero != nil && f.zero.due() {
			return 0, took, burstEnd{flow: f}
		}
		n, ended, e := f.sendCounted(t, min(uintptr(f.rest), t.buffer.size), unix.MSG_DONTWAIT)
		switch {
		case e == unix.EINTR:
			continue
		case e == unix.EAGAIN:
			f.full = true
			return -1, took, burstEnd{}
		case e != 0 || ended:
			return 0, took, burstEnd{f, ended, e}
		}
		f.bucket.Take(int(n), now)
		f.took()
		f.rest -= int(n)
		took += n
	}
}
