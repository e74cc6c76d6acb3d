package stream

import (
	"errors"
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

// newCrew deals the role's flows to its threads.
func newCrew(e *Engine, role traffic.Role) (*crew, error) {
	flows := e.of(role)
	n := crewSize(e.config.Threads, len(flows))
	c := &crew{together: e.config.FailTogether, ended: make(chan struct{}), tell: e.crewEnded, left: n}
	for i := range n {
		t, err := newThread(e, role, deal(flows, i, n))
		if err != nil {
			c.close()
			return c, err
		}
		t.cpu = traffic.CPUOf(e.config.CPUs, i)
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
		c.running.Go(func() { c.end(t.run(ready, start, &c.stop)) })
	}
}

// end notes that a thread has ended.
func (c *crew) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if err != nil {
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

// silent is for how many calls in turn a thread has moved nothing, at most.
func (c *crew) silent() uint64 {
	var calls uint64
	for _, t := range c.threads {
		calls = max(calls, t.silent.Load())
	}
	return calls
}
