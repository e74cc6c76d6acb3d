package ping

import (
	"errors"
	"sync"
	"sync/atomic"
)

// crew is the threads of an engine: they begin together, and the first error of one
// ends them all, because a trial in which a flow broke is no trial.
type crew struct {
	start   chan struct{}
	begin   func()
	stop    atomic.Bool
	running sync.WaitGroup
	over    chan struct{}

	mu       sync.Mutex
	isOver   bool
	left     int
	failures []error
}

func (c *crew) form(threads int) {
	c.start, c.over, c.left = make(chan struct{}), make(chan struct{}), threads
	c.begin = sync.OnceFunc(func() { close(c.start) })
}

func (c *crew) ended() <-chan struct{} { return c.over }

// end notes that a thread has ended.
func (c *crew) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if err != nil {
		c.failures = append(c.failures, err)
		c.stop.Store(true)
	}
	if !c.isOver && (err != nil || c.left == 0) {
		c.isOver = true
		close(c.over)
	}
}

func (c *crew) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.failures...)
}

// halt stops every thread and waits for it.
func (c *crew) halt() {
	c.stop.Store(true)
	c.begin()
	c.running.Wait()
}
