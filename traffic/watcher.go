package traffic

import (
	"time"

	"windtunnel/result"
)

// Whoever watches may be slow, as a terminal that is stopped: so many intervals wait for it, and more are left out of what it sees,
// though not of the result. At the end it has so long for them.
const (
	waitingIntervals = 64
	watcherPatience  = time.Second
)

// Watcher tells a Schedule's Observe of intervals on a goroutine of its own, so that it holds nothing up.
type Watcher struct {
	live chan result.Interval
	seen chan struct{} // closed when it has seen all
}

// NewWatcher is nil where nobody observes.
func NewWatcher(observe func(result.Interval)) *Watcher {
	if observe == nil {
		return nil
	}
	w := &Watcher{live: make(chan result.Interval, waitingIntervals), seen: make(chan struct{})}
	go func() {
		defer close(w.seen)
		for i := range w.live {
			observe(i)
		}
	}()
	return w
}

// Tell never waits.
func (w *Watcher) Tell(i result.Interval) {
	if w == nil {
		return
	}
	select {
	case w.live <- i:
	default:
	}
}

// Close waits, for a while, until all that was told has been seen. Nothing is told after it.
func (w *Watcher) Close() {
	if w == nil {
		return
	}
	close(w.live)
	select {
	case <-w.seen:
	case <-time.After(watcherPatience):
	}
}
