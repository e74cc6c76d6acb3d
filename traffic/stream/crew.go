package stream

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"windtunnel/traffic"
)

// crew is the hot threads of one role.
type crew struct {
	threads  []*thread
	together bool // the first error ends all
	stop     traffic.Stop
	running  sync.WaitGroup
	ended    chan struct{}   // closed when no thread runs any more, or at the first error that ends all
	tell     func(err error) // called once, then; with that error

	mu       sync.Mutex
	isEnded  bool
	endedAt  time.Time // of threads that ran
	left     int
	failures []error
}

// newCrew deals the role's flows to its threads. Those made so far stand beside an error, for the caller to close.
func newCrew(e *Engine, role traffic.Role) (*crew, error) {
	flows := e.of(role)
	n := crewSize(e.config.Threads, len(flows))
	c := &crew{together: e.config.FailTogether, ended: make(chan struct{}), tell: e.crewEnded, left: n}
	for i := range n {
		t, err := newThread(e, role, deal(flows, i, n))
		if err != nil {
			return c, err
		}
		t.cpu, t.crew = traffic.CPUOf(e.config.CPUs, i), c
		c.threads = append(c.threads, t)
	}
	return c, nil
}

// deal returns every n-th flow from the i-th on.
func deal(flows []*flow, i, n int) []*flow {
	var hand []*flow
	for ; i < len(flows); i += n {
		hand = append(hand, flows[i])
	}
	return hand
}

func (c *crew) spawn(ready func(), start <-chan struct{}) {
	if len(c.threads) == 0 {
		c.isEnded = true
		close(c.ended)
		c.tell(nil)
	}
	for _, t := range c.threads {
		c.running.Go(func() {
			err := t.run(ready, start, &c.stop)
			t.silent.Store(noMore)
			c.stir()
			c.end(err)
		})
	}
}

// end notes that a thread has ended.
func (c *crew) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if err != nil && !slices.ContainsFunc(c.failures, func(said error) bool { return said.Error() == err.Error() }) {
		c.failures = append(c.failures, err)
	}
	if !c.together {
		err = nil
	}
	if !c.isEnded && (c.left == 0 || err != nil) {
		c.isEnded, c.endedAt = true, time.Now()
		close(c.ended)
		c.tell(err)
	}
}

// over is when the threads ended, if that was before a time, which it is else.
func (c *crew) over(at time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endedAt.IsZero() || c.endedAt.After(at) {
		return at
	}
	return c.endedAt
}

// failure is what went wrong, or nil.
func (c *crew) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.failures...)
}

// halt stops the threads and waits for them; begin lets those go that still wait
// for the start.
func (c *crew) halt(begin func()) {
	c.stop.Ask()
	begin()
	c.running.Wait()
}

func (c *crew) close() {
	for _, t := range c.threads {
		t.close()
	}
}

// noMore is what a thread says that has ended, in the place of calls in turn that moved nothing.
const noMore = math.MaxUint64

// silent is for how many calls in turn no thread has moved anything; 0 once all have ended. That one moves nothing says little of
// the peer: a full path starves some of many streams for seconds (RFC 6298, section 5.5: their timers back off).
func (c *crew) silent() uint64 {
	least := uint64(noMore)
	for _, t := range c.threads {
		least = min(least, t.silent.Load())
	}
	if least == noMore {
		return 0
	}
	return least
}

// stir lets the threads that are left begin anew to count how long nothing has moved: that one has ended is a sign of its peer.
func (c *crew) stir() {
	for _, t := range c.threads {
		if n := t.silent.Load(); n != noMore {
			t.silent.CompareAndSwap(n, 0)
		}
	}
}
