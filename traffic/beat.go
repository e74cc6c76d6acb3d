package traffic

import "time"

// The time of a program that is stopped, or has no CPU, shows by how late who waits in it wakes: each looks at that every beatEvery.
const (
	beatEvery = 100 * time.Millisecond
	lateBeat  = 2 * beatEvery // or more, and it stood still
)

// NextBeat is when to wake next on the way to a time, which may be over: now then.
func NextBeat(next time.Time) time.Time {
	now := time.Now()
	switch beat := now.Add(beatEvery); {
	case beat.Before(next):
		return beat
	case now.Before(next):
		return next
	}
	return now
}

// StoodStill is for how long the program did of who woke so late for a beat: 0 where that is usual.
func StoodStill(late time.Duration) time.Duration {
	if late < lateBeat {
		return 0
	}
	return late
}
