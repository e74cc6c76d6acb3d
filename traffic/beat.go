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

// Still is what whoever wakes for beats knows of when the program stood still. Its zero value: it never did.
type Still struct {
	For  time.Duration // in all; set anew where a window begins
	woke time.Time     // when it last went on; zero: what came meanwhile is read
}

// Woke notes that somebody woke, so late for a beat.
func (s *Still) Woke(late time.Duration) {
	if stood := StoodStill(late); stood > 0 {
		s.For += stood
		s.woke = time.Now()
	}
}

// catchUp is for how long a program that went on may have more to move than its path brings: what came meanwhile, or room for more. Where
// more comes all the while, something always waits, so that it bounds also who looks.
const catchUp = 100 * time.Millisecond

// CatchesUp tells whether the program has only just gone on: an interval that began now would have what was moved in place of the time
// before, and a rate that no path has.
func (s *Still) CatchesUp(now time.Time) bool { return s.Rest(now) > 0 }

// Rest is for how long it still does; not above 0 where it does not.
func (s *Still) Rest(now time.Time) time.Duration {
	if s.woke.IsZero() {
		return 0
	}
	return catchUp - now.Sub(s.woke)
}

// CaughtUp notes that nothing waits any more of what came meanwhile, by who can tell.
func (s *Still) CaughtUp() { s.woke = time.Time{} }

// StoodStill is for how long the program did of who woke so late for a beat: 0 where that is usual.
func StoodStill(late time.Duration) time.Duration {
	if late < lateBeat {
		return 0
	}
	return late
}
