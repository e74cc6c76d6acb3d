package ping

import (
	"slices"
	"time"

	"windtunnel/result"
)

// step is what one thread saw in one interval. An answer belongs to the interval in
// which it came.
type step struct {
	thread  int
	index   int // of the interval: from the window's begin; the warm-up's are below 0
	packets uint64
	lost    uint64
	times   *result.Recorder
	last    bool // the thread has ended
}

// steps cuts one thread's time into intervals. It hands a full one over only when
// somebody has room for it and a spare recorder is there, so it never waits.
type steps struct {
	from, interval int64
	now            step
	out            chan<- step
	spares         <-chan *result.Recorder
}

func newSteps(thread int, p plan, out chan<- step, spares <-chan *result.Recorder) *steps {
	s := &steps{from: p.from, interval: p.interval, out: out, spares: spares}
	s.now = step{thread: thread, index: s.index(p.start), times: result.NewRecorder()}
	return s
}

// index is the number of the interval of a time.
func (s *steps) index(at int64) int {
	d := at - s.from
	if d < 0 {
		d -= s.interval - 1
	}
	return int(d / s.interval)
}

func (s *steps) take(e *ended, closed bool) {
	s.reach(e.done)
	switch e.state {
	case givenUp:
		s.now.lost++
	case answered, lateAnswer:
		s.now.packets++
		since := e.intended
		if closed {
			since = e.sent
		}
		s.now.times.Record(e.done - since)
	}
}

// reach passes the interval on when it is over.
func (s *steps) reach(now int64) {
	index := s.index(now)
	if index <= s.now.index {
		return
	}
	select {
	case spare := <-s.spares:
		select {
		case s.out <- s.now:
			s.now = step{thread: s.now.thread, index: index, times: spare}
		default: // whoever watches is slow: this interval grows longer
		}
	default:
	}
}

// finish hands the running interval over; the collector always takes the last.
func (s *steps) finish() {
	s.now.last = true
	s.out <- s.now
}

// collector joins the threads' steps into intervals, in order, on its own goroutine.
type collector struct {
	steps   chan step
	spares  chan *result.Recorder
	plan    plan
	bytes   uint64 // of payload that an answered request moves
	observe func(result.Interval)
	reached []int // by thread: intervals before this one are complete
	parts   map[int]*step
	next    int
	done    chan struct{}
	all     []result.Interval // after done
}

// spareRecorders is how many a thread has beside the one in use.
const spareRecorders = 2

func newCollector(threads int, p plan, bytes uint64, observe func(result.Interval)) *collector {
	c := &collector{
		steps: make(chan step, threads*spareRecorders), spares: make(chan *result.Recorder, threads*(spareRecorders+1)),
		plan: p, bytes: bytes, observe: observe, reached: make([]int, threads), parts: map[int]*step{}, done: make(chan struct{}),
	}
	for range threads * spareRecorders {
		c.spares <- result.NewRecorder()
	}
	c.next = (&steps{from: p.from, interval: p.interval}).index(p.start)
	for i := range c.reached {
		c.reached[i] = c.next
	}
	go c.run()
	return c
}

// run ends when steps is closed.
func (c *collector) run() {
	defer close(c.done)
	for s := range c.steps {
		c.take(s)
		for whole := slices.Min(c.reached); c.next < whole; c.next++ {
			if !c.emit(c.next) {
				break
			}
		}
	}
}

// end is the number of the first interval after the window.
func (c *collector) end() int {
	return int((c.plan.to - c.plan.from + c.plan.interval - 1) / c.plan.interval)
}

func (c *collector) take(s step) {
	c.reached[s.thread] = s.index + 1
	if s.last {
		c.reached[s.thread] = c.end()
	}
	if part := c.parts[s.index]; part != nil {
		part.packets += s.packets
		part.lost += s.lost
		part.times.Merge(s.times)
		s.times.Reset()
		c.spare(s.times)
		return
	}
	c.parts[s.index] = &s
}

func (c *collector) spare(r *result.Recorder) {
	select {
	case c.spares <- r:
	default:
	}
}

// emit tells of one interval; false: it lies after the window.
func (c *collector) emit(index int) bool {
	from, to := int64(index)*c.plan.interval, int64(index+1)*c.plan.interval
	from, to = max(from, c.plan.start-c.plan.from), min(to, c.plan.to-c.plan.from)
	if from >= to {
		return false
	}
	i := result.Interval{From: time.Duration(from).Seconds(), To: time.Duration(to).Seconds()}
	if part := c.parts[index]; part != nil {
		delete(c.parts, index)
		i.Packets, i.Lost, i.Bytes = part.packets, part.lost, part.packets*c.bytes
		i.LatencyP50, i.LatencyP99 = part.times.At(50), part.times.At(99)
		part.times.Reset()
		c.spare(part.times)
	}
	c.all = append(c.all, i)
	if c.observe != nil {
		c.observe(i)
	}
	return true
}

// finish waits for what is on its way, after the threads have ended.
func (c *collector) finish() []result.Interval {
	close(c.steps)
	<-c.done
	return c.all
}
