package iperf3

import (
	"time"

	"windtunnel/traffic"
)

// backlog is what came while this end stood still, and waits in its sockets. It is of the time in which it came: what ends meanwhile, an
// interval, what is omitted or the test, takes it in. Else the next interval had all of it, at a rate that no path carried.
type backlog struct {
	until time.Time // it is waited for, zero: there is none
	look  time.Time // when to look again
}

// backlogLimit is for how long it is waited for: where more comes all the while, something always waits.
const backlogLimit = 100 * time.Millisecond

// woke notes how late it did for what was due, which is never later than the guard's next look. What it takes its time for itself, such as
// a line for a slow reader, is none of that.
func (t *trial) woke(late time.Duration) {
	stood := traffic.StoodStill(late)
	t.tally.stood += stood
	if stood > 0 {
		t.backlog.until = time.Now().Add(backlogLimit)
	}
}

// behind tells whether what is due has to wait for a backlog.
func (t *trial) behind(now time.Time) bool {
	if !now.Before(t.backlog.until) || !t.mover.waits() {
		t.backlog = backlog{}
		return false
	}
	t.backlog.look = now.Add(guardShortest)
	return true
}

// pastBacklog is when something is due that may wait for a backlog.
func (t *trial) pastBacklog(due time.Time) time.Time {
	if due.IsZero() {
		return due
	}
	return later(due, t.backlog.look)
}

// readUp waits for a backlog at the test's end.
func (t *trial) readUp() {
	for t.behind(time.Now()) {
		time.Sleep(guardShortest)
	}
}
