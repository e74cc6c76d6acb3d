package frame

import (
	"context"
	"sync/atomic"
	"time"

	"windtunnel/traffic"
)

// The waits after frames were refused of which a sender without a rate takes the better, ns. One that goes on keeps
// its device's ring full, and returns what was refused under the lock under which the far end returns what it took:
// on an Intel Xeon that made both a quarter slower, while on an AMD EPYC the wait itself cost a seventh with batches of
// 64 frames, and gains a tenth with fastBatch. A ring of 256 frames does not run empty in 10 us; 5 to 30 us did the
// same on the Xeon.
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
	if turns < 1 { // below 0 where the warm-up is over already, as this program was stopped or had no CPU
		return nil
	}
	turn := share / time.Duration(2*turns)
	trial := traffic.NewTurns(turns)
	for !trial.Over() {
		wait := uint32(longPause)
		if trial.Other() {
			wait = noPause
		}
		rate, err := e.taken(ctx, c, wait, turn)
		if err != nil {
			return err
		}
		trial.Add(rate)
	}
	e.pause(longPause)
	if trial.Gain() > 1 {
		e.pause(noPause)
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
	return max(0, float64(after)-float64(before)) / time.Since(began).Seconds(), nil // less than before: refused since
}
