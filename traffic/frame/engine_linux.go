package frame

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// source is what one hot thread sends by. Before rate, delay and release it sends nothing
// but probes; after interrupt, work returns, if it is told so again and again.
type source interface {
	probe(frames int) error
	rate(perSecond float64, burst int)
	delay(by time.Duration) // of its first frame, after release, if there is a rate
	work() error
	release()
	setPhase(phase uint32)
	interrupt()
	counts(phase int) (sent, refused uint64) // sent: the device took them
	skipped() uint64                         // numbers that no frame will have, since theirs were refused
	calls() uint64
	missed() time.Duration // of the rate, which was never sent because the thread came too late
	away() time.Duration   // for how long the device was down, 0 too where that is not known
	clock() *traffic.ThreadClock
	late(*result.Recorder) // adds how late the window's frames were
	close() error
}

var (
	_ source = (*live)(nil)
	_ source = (*packetSocket)(nil)
)

// mover is what sends a trial's frames: threads of this process, or a tester. It begins held back.
type mover interface {
	release()
	setPhase(phase uint32)
	counts(in ...int) (sent, refused uint64) // summed over some phases; sent: the device took them
	skipped() uint64                         // as a source's
	usage() usage                            // so far; after setPhase, up to that phase's begin
	late(*result.Recorder)                   // adds how late the window's frames were
	halt()                                   // sends no more
	broken() <-chan struct{}                 // closed at the first failure
	failure() error
}

var (
	_ mover = (*engine)(nil)
	_ mover = (*portMover)(nil)
)

// engine runs a source a thread. It does not own the sources.
type engine struct {
	sources []source
	running sync.WaitGroup
	done    chan struct{} // closed when no thread runs any more
	ended   chan struct{} // closed at the first error
	end     sync.Once
	unhold  func()

	mu       sync.Mutex
	failures []error
}

// newEngine's threads yield to whatever else their CPUs have to do, if that is asked for.
func newEngine(sources []source, cpus []int, yields bool) *engine {
	e := &engine{sources: sources, done: make(chan struct{}), ended: make(chan struct{})}
	e.unhold = traffic.HoldHot(len(sources))
	for i, s := range sources {
		e.running.Go(func() { e.note(runThread(s, traffic.CPUOf(cpus, i), yields)) })
	}
	go func() {
		e.running.Wait()
		close(e.done)
	}()
	return e
}

// A thread that yields has the lowest priority (setpriority(2)), and short time slices, so that senders
// with one CPU take turns within what a ring holds (EEVDF's custom slices, Linux 6.12; older kernels
// choose their own).
const (
	lowest = 19
	turn   = 100 * time.Microsecond
)

// runThread ends without unlocking, so that the OS thread, its affinity and its priority end with it.
func runThread(s source, cpu int, yields bool) error {
	runtime.LockOSThread()
	if yields {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: lowest, Runtime: uint64(turn)}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			return fmt.Errorf("lowering the priority of a sender's thread: %w", err)
		}
	}
	if cpu >= 0 {
		if err := traffic.PinThread(cpu); err != nil {
			return err
		}
	}
	return s.work()
}

func (e *engine) note(err error) {
	if err == nil {
		return
	}
	e.mu.Lock()
	e.failures = append(e.failures, err)
	e.mu.Unlock()
	e.end.Do(func() { close(e.ended) })
}

func (e *engine) broken() <-chan struct{} { return e.ended }

func (e *engine) late(all *result.Recorder) {
	for _, s := range e.sources {
		s.late(all)
	}
}

func (e *engine) failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.failures...)
}

func (e *engine) setPhase(phase uint32) {
	for _, s := range e.sources {
		s.setPhase(phase)
	}
}

func (e *engine) release() {
	for _, s := range e.sources {
		s.release()
	}
}

// halt stops every thread and waits for it. A signal may come just before the
// call that it is to end, so it is sent until the thread has ended.
func (e *engine) halt() {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		for _, s := range e.sources {
			s.interrupt()
		}
		select {
		case <-e.done:
			e.unhold()
			return
		case <-again.C:
		}
	}
}

// counts sums the sources' over some phases.
func (e *engine) counts(in ...int) (sent, refused uint64) {
	for _, s := range e.sources {
		for _, phase := range in {
			ours, theirs := s.counts(phase)
			sent, refused = sent+ours, refused+theirs
		}
	}
	return sent, refused
}

func (e *engine) skipped() (numbers uint64) {
	for _, s := range e.sources {
		numbers += s.skipped()
	}
	return numbers
}

// usage is what the threads have taken so far.
type usage struct {
	at     time.Time
	calls  uint64
	away   time.Duration // of all threads
	missed time.Duration // likewise
	spent  traffic.CrewTime
	cycles result.Cycles // of a tester
}

func (e *engine) usage() usage {
	u := usage{at: time.Now()}
	for _, s := range e.sources {
		u.calls += s.calls()
		u.away += s.away()
		u.missed += s.missed()
		u.spent.Add(traffic.ThreadTime(s.clock().CPU(), s.clock().Wait()))
	}
	return u
}

// newSources makes a source a thread.
func newSources(method string, h header, l load, out device) ([]source, error) {
	var sources []source
	for i := range l.threads {
		first, end := l.share(i)
		var s source
		var err error
		if method == byXDP {
			s, err = newLive(h, out.index, first, end)
		} else {
			s, err = newPacketSocket(h, out, first, end)
		}
		if err != nil {
			closeSources(sources)
			return nil, fmt.Errorf("making thread %d of the sender: %w", i, err)
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func closeSources(sources []source) error {
	var failed []error
	for _, s := range sources {
		failed = append(failed, s.close())
	}
	return errors.Join(failed...)
}
