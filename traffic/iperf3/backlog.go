package iperf3

import "time"

// A backlog is what came while this end stood still, and waits in its sockets. It is of the time in which it came: what ends meanwhile, an
// interval, what is omitted or the test, takes it in. Else the next interval had all of it, at a rate that no path carried.

// behind tells whether what is due has to wait for a backlog.
func (t *trial) behind(now time.Time) bool {
	switch still := &t.tally.still; {
	case !still.CatchesUp(now):
		return false
	case !t.mover.waits():
		still.CaughtUp()
		return false
	}
	t.look = now.Add(guardShortest)
	return true
}

// pastBacklog is when something is due that may wait for a backlog.
func (t *trial) pastBacklog(due time.Time) time.Time {
	if due.IsZero() || !t.tally.still.CatchesUp(time.Now()) {
		return due
	}
	return later(due, t.look)
}

// readUp waits for a backlog at the test's end.
func (t *trial) readUp() {
	for t.behind(time.Now()) {
		time.Sleep(guardShortest)
	}
}
