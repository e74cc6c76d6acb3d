package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"windtunnel/bench/wire"
	"windtunnel/measure/profile"
)

// A round is four windows in a row of one load that runs: two are sampled and two are not, in the order ABBA or BAAB, by chance. What the
// load does slowly by itself cancels in each, and nothing that comes at intervals falls on one of the two alone.
const windowsEach = 4

// settles is how long the load has after the clocks were set going or stopped.
const settles = 25 * time.Millisecond

// sampler is profile.Sampler.
type sampler interface {
	Start() error
	Stop() (time.Duration, error)
	Take(window time.Duration) (profile.Samples, error)
}

// rounds measures them. Received and wait are the machine's, or a test's.
type rounds struct {
	window   time.Duration
	sampler  sampler
	received func() (wire.Count, error)
	of       func(wire.Count) uint64 // what is counted
	wait     func(time.Duration) error
}

// order says which of a round's windows are sampled.
func order() [windowsEach]bool {
	first := rand.N(2) == 0
	return [windowsEach]bool{first, !first, !first, first}
}

// measure takes a round: what was received in a second of the windows that were sampled, and of those that were not.
func (r rounds) measure(sampled [windowsEach]bool) (with, without float64, err error) {
	var count [2]float64
	var lasted [2]time.Duration
	for _, on := range sampled {
		n, took, err := r.one(on)
		if err != nil {
			return 0, 0, err
		}
		which := 0
		if on {
			which = 1
		}
		count[which] += n
		lasted[which] += took
	}
	if count[0] == 0 || count[1] == 0 {
		return 0, 0, errors.New("nothing was received: the load has ended, or was stopped")
	}
	return count[1] / lasted[1].Seconds(), count[0] / lasted[0].Seconds(), nil
}

// one is a window. What was sampled is read behind it, where no window is.
func (r rounds) one(sampled bool) (n float64, took time.Duration, err error) {
	if sampled {
		if err := r.sampler.Start(); err != nil {
			return 0, 0, err
		}
		defer func() {
			window, stopped := r.sampler.Stop()
			_, taken := r.sampler.Take(window)
			err = errors.Join(err, stopped, taken)
		}()
	}
	if err := r.wait(settles); err != nil {
		return 0, 0, err
	}
	from, err := r.received()
	if err != nil {
		return 0, 0, fmt.Errorf("counting what was received: %w", err)
	}
	if err := r.wait(r.window); err != nil {
		return 0, 0, err
	}
	to, err := r.received()
	if err != nil {
		return 0, 0, fmt.Errorf("counting what was received: %w", err)
	}
	if r.of(to) < r.of(from) || to.At <= from.At {
		return 0, 0, errors.New("a connection was lost: less was received than before")
	}
	return float64(r.of(to) - r.of(from)), to.At - from.At, nil
}
