package traffic

import "time"

// The time of a program that is stopped, or has no CPU, shows by how late it wakes: it looks at that every beatEvery.
const (
	beatEvery = 100 * time.Millisecond
	lateBeat  = 2 * beatEvery // or more, and it stood still
)

// Beat counts for how long a program stood still, by the waits of one of its goroutines.
type Beat struct {
	Stood time.Duration
}

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

// Woke notes that who was to wake at that time does so now.
func (b *Beat) Woke(due time.Time) { b.late(time.Since(due)) }

func (b *Beat) late(by time.Duration) {
	if by >= lateBeat {
		b.Stood += by
	}
}
