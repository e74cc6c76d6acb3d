package frame

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// The waits after frames were refused of which a sender without a rate takes the better, ns. One that goes on keeps
// its device's ring full, and returns what was refused under the lock under which the far end returns what it took:
// on an Intel Xeon that made both a quarter slower, while on an AMD EPYC the wait itself cost a seventh. A ring of 256
// frames does not run empty in 10 us; 5 to 30 us did the same there.
const (
	noPause   = 0
	longPause = 10_000
)

// How a warm-up is divided among them: into turns of at least leastTurn, at most mostTries of each, and the rest is
// for what was chosen.
const (
	leastTurn = 10 * time.Millisecond
	mostTries = 8
	tryShare  = 0.75
)

// pauser is a source that may wait after its device refused frames.
type pauser interface{ pause(ns uint32) }

func (l *live) pause(ns uint32) { atomic.StoreUint32(&l.record.Pause, ns) }

func (e *engine) pause(ns uint32) {
	for _, s := range e.sources {
		if p, can := s.(pauser); can {
			p.pause(ns)
		}
	}
}

// choosePause tries both waits in turn while the course warms up, and stays with the one by which the device took
// more frames. Where the warm-up is too short for a turn of each, the wait is longPause.
func (e *engine) choosePause(ctx context.Context, c *course) error {
	e.pause(longPause)
	share := time.Duration(tryShare * float64(time.Until(c.windowBegin())))
	turns := min(mostTries, int(share/(2*leastTurn)))
	if turns == 0 {
		return nil
	}
	turn := share / time.Duration(2*turns)
	var gains []float64
	for i := range turns {
		first, second := uint32(noPause), uint32(longPause)
		if i%2 == 1 { // so that a rate that rises or falls favours neither
			first, second = second, first
		}
		one, err := e.taken(ctx, c, first, turn)
		if err != nil {
			return err
		}
		other, err := e.taken(ctx, c, second, turn)
		if err != nil {
			return err
		}
		if first == longPause {
			one, other = other, one
		}
		gains = append(gains, one-other)
	}
	slices.Sort(gains)
	if middle := gains[len(gains)/2]; middle > 0 {
		e.pause(noPause)
	} else {
		e.pause(longPause)
	}
	return nil
}

// taken is how many frames a second the device takes during a turn with a wait.
func (e *engine) taken(ctx context.Context, c *course, wait uint32, turn time.Duration) (perSecond float64, err error) {
	e.pause(wait)
	began := time.Now()
	before, _ := e.counts(warmUp)
	if err := c.until(ctx, began.Add(turn)); err != nil {
		return 0, err
	}
	after, _ := e.counts(warmUp)
	return float64(after-before) / time.Since(began).Seconds(), nil
}
