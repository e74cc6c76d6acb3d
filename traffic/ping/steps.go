package ping

import (
	"slices"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// step is what one thread saw in one interval. A request belongs to the interval in
// which its answer came or it was given up. The window's intervals add up to the
// window: its last one holds the requests of the window that end after it, and none
// holds those of the warm-up that end in the window; within goes by when answers came, alone.
type step struct {
	thread  int
	index   int // of the interval
	upTo    int // of the last interval that it holds, too
	packets uint64
	within  uint64 // answers that came in it, to requests of whatever time
	lost    uint64
	writes  uint64 // requests whose payload went forth, also lost ones
	reads   uint64 // those whose payload came back
	times   *result.Recorder
	ended   int64 // when the thread ended; 0: it goes on
}

// steps cuts one thread's time into intervals. It hands a full one over only when
// somebody has room for it and a spare recorder is there, so it never waits.
type steps struct {
	plan   plan
	last   int // the window's last interval
	now    step
	out    chan<- step
	spares <-chan *result.Recorder
	spare  *result.Recorder // for the next step; nil: none
}

func newSteps(thread int, p plan, out chan<- step, spares <-chan *result.Recorder) *steps {
	s := &steps{plan: p, last: p.end() - 1, out: out, spares: spares}
	s.now = newStep(thread, p.index(p.start), result.NewRecorder())
	return s
}

func newStep(thread, index int, times *result.Recorder) step {
	return step{thread: thread, index: index, upTo: index, times: times}
}

func (s *steps) take(e *ended, closed bool) {
	s.reach(e.done)
	if (e.state == answered || e.state == lateAnswer) && e.done < s.plan.to {
		s.now.within++
	}
	if s.plan.holds(e.intended) != (s.now.index >= 0) {
		return
	}
	switch e.state {
	case givenUp, due, open: // the last two at the trial's end
		s.now.lost++
	case answered, lateAnswer:
		s.now.packets++
		since := e.intended
		if closed {
			since = e.sent
		}
		s.now.times.Record(e.done - since)
	}
	switch { // as sum and asked count the window's: a late answer's payload went when it was lost
	case e.state == refused, e.state == due, e.state == lateAnswer:
	case !e.read:
		s.now.writes++
	case e.state == answered:
		s.now.reads++
	}
}

// reach passes the interval on when it is over; the window's last one goes on until finish.
func (s *steps) reach(now int64) {
	index := min(s.plan.index(now), s.last)
	if index <= s.now.index {
		return
	}
	if s.spare == nil {
		select {
		case s.spare = <-s.spares:
		default:
		}
	}
	if s.spare != nil {
		select {
		case s.out <- s.now:
			s.now, s.spare = newStep(s.now.thread, index, s.spare), nil
			return
		default: // whoever joins the steps is slow: this interval grows longer
		}
	}
	if s.now.index < 0 && index >= 0 { // but not from the warm-up into the window
		s.now.times.Reset()
		s.now = newStep(s.now.thread, index, s.now.times)
	}
	s.now.upTo = index
}

// finish hands the running interval over; the collector always takes the last.
func (s *steps) finish(now int64) {
	s.now.ended = now
	s.out <- s.now
}

// collector joins the threads' steps into intervals, in order, on its own goroutine.
type collector struct {
	steps   chan step
	spares  chan *result.Recorder
	plan    plan
	until   int64  // the window's end, or when the last thread ended before it
	bytes   uint64 // of payload that a request moves
	watcher *traffic.Watcher
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
		plan: p, until: p.to, bytes: bytes, watcher: traffic.NewWatcher(observe), reached: make([]int, threads), parts: map[int]*step{}, done: make(chan struct{}),
	}
	for range threads * spareRecorders {
		c.spares <- result.NewRecorder()
	}
	c.next = p.index(p.start)
	for i := range c.reached {
		c.reached[i] = c.next
	}
	go c.run()
	return c
}

// run ends when steps is closed.
func (c *collector) run() {
	defer close(c.done)
	ended := int64(0)
	for s := range c.steps {
		ended = max(ended, s.ended)
		c.take(s)
		for whole := slices.Min(c.reached); c.next < whole && c.span() < whole; {
			c.emit()
		}
	}
	for c.until = min(c.until, ended); c.emit(); {
	}
}

// span is the last of the intervals from the next one on that steps hold together: one that grew tells no more than its sum.
func (c *collector) span() (last int) {
	last = c.next
	for i := c.next; i <= last; i++ {
		if part := c.parts[i]; part != nil {
			last = max(last, part.upTo)
		}
	}
	return last
}

func (c *collector) take(s step) {
	c.reached[s.thread] = s.upTo + 1
	if s.ended != 0 {
		c.reached[s.thread] = min(c.plan.index(s.ended), c.plan.end())
	}
	if part := c.parts[s.index]; part != nil {
		c.join(part, &s)
		return
	}
	c.parts[s.index] = &s
}

// join adds a step to another one.
func (c *collector) join(part, s *step) {
	part.upTo = max(part.upTo, s.upTo)
	part.packets += s.packets
	part.within += s.within
	part.lost += s.lost
	part.writes += s.writes
	part.reads += s.reads
	part.times.Merge(s.times)
	s.times.Reset()
	c.spare(s.times)
}

func (c *collector) spare(r *result.Recorder) {
	select {
	case c.spares <- r:
	default:
	}
}

// emit tells of the next interval, or of those that steps hold together; false: it lies after the end.
func (c *collector) emit() bool {
	last := c.span()
	from, to := int64(c.next)*c.plan.interval, int64(last+1)*c.plan.interval
	from, to = max(from, c.plan.start-c.plan.from), min(to, c.until-c.plan.from)
	if from >= to {
		return false
	}
	var sum *step
	for ; c.next <= last; c.next++ {
		part := c.parts[c.next]
		delete(c.parts, c.next)
		switch {
		case part == nil:
		case sum == nil:
			sum = part
		default:
			c.join(sum, part)
		}
	}
	i := result.Interval{From: time.Duration(from).Seconds(), To: time.Duration(to).Seconds(), Within: new(uint64)}
	if sum != nil {
		*i.Within = sum.within
		i.Packets, i.Lost, i.Bytes, i.BackBytes = sum.packets, sum.lost, sum.writes*c.bytes, sum.reads*c.bytes
		i.LatencyP50, i.LatencyP99 = sum.times.At(50), sum.times.At(99)
		sum.times.Reset()
		c.spare(sum.times)
	}
	c.all = append(c.all, i)
	c.watcher.Tell(i)
	return true
}

// finish waits for what is on its way, after the threads have ended.
func (c *collector) finish() []result.Interval {
	close(c.steps)
	<-c.done
	c.watcher.Close()
	return c.all
}
