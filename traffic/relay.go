package traffic

import (
	"time"

	"windtunnel/result"
)

// relayPatience is how long whoever is told has, at the end, for what waits.
const relayPatience = time.Second

// Relay tells somebody of something on a goroutine of its own, in order. Whoever is told may be slow, as a terminal that is stopped,
// and holds nothing up: so much waits, and more is left out.
type Relay[T any] struct {
	waiting chan T
	told    chan struct{} // closed when all has been told
}

// NewRelay has room for so many that wait.
func NewRelay[T any](room int, tell func(T)) *Relay[T] {
	r := &Relay[T]{waiting: make(chan T, room), told: make(chan struct{})}
	go func() {
		defer close(r.told)
		for one := range r.waiting {
			tell(one)
		}
	}()
	return r
}

// Tell never waits.
func (r *Relay[T]) Tell(one T) {
	if r == nil {
		return
	}
	select {
	case r.waiting <- one:
	default:
	}
}

// Waiting is how many have not been told yet, but for the one that is being told.
func (r *Relay[T]) Waiting() int { return len(r.waiting) }

// Close waits, for a while, until all has been told. Nothing is told after it.
func (r *Relay[T]) Close() {
	if r == nil {
		return
	}
	close(r.waiting)
	select {
	case <-r.told:
	case <-time.After(relayPatience):
	}
}

// waitingIntervals are those that wait for whoever watches. More are left out of what that sees, though not of the result.
const waitingIntervals = 64

// Watcher tells a Schedule's Observe of intervals.
type Watcher = Relay[result.Interval]

// NewWatcher is nil where nobody observes.
func NewWatcher(observe func(result.Interval)) *Watcher {
	if observe == nil {
		return nil
	}
	return NewRelay(waitingIntervals, observe)
}
