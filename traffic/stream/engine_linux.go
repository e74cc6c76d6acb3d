package stream

import (
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// engine drives connected sockets with hot threads. It does not own the sockets.
type engine struct {
	fds     []int
	threads []*thread
	start   chan struct{}
	stop    atomic.Bool
	running sync.WaitGroup
	ended   chan struct{} // closed when no thread runs any more, or at the first error
	begin   func()        // lets the traffic flow
	release func()

	mu       sync.Mutex
	isEnded  bool
	left     int
	failures []error
}

// newEngine makes a thread a buffer, deals the sockets to them, and returns when all
// stand pinned. The engine must be closed.
func newEngine(role traffic.Role, buffers []hotBuffer, cpus, fds []int) (*engine, error) {
	n := len(buffers)
	e := &engine{fds: fds, start: make(chan struct{}), ended: make(chan struct{}), left: n}
	e.begin = sync.OnceFunc(func() { close(e.start) })
	for i, b := range buffers {
		t, err := newThread(role, deal(fds, i, n), cpuOf(cpus, i), b)
		if err != nil {
			e.closeThreads()
			return nil, err
		}
		e.threads = append(e.threads, t)
	}
	e.release = traffic.HoldHot(n)
	e.spawn()
	return e, nil
}

// deal returns every n-th socket from the i-th on.
func deal(fds []int, i, n int) []int {
	var hand []int
	for ; i < len(fds); i += n {
		hand = append(hand, fds[i])
	}
	return hand
}

func cpuOf(cpus []int, i int) int {
	if len(cpus) == 0 {
		return -1
	}
	return cpus[i%len(cpus)]
}

func (e *engine) spawn() {
	var standing sync.WaitGroup
	standing.Add(len(e.threads))
	for _, t := range e.threads {
		e.running.Go(func() { e.end(t.run(standing.Done, e.start, &e.stop)) })
	}
	standing.Wait()
}

// end notes that a thread has ended. The first error ends the whole engine: a
// trial in which a stream broke is no trial.
func (e *engine) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left--
	if err != nil {
		e.failures = append(e.failures, err)
		e.stop.Store(true)
	}
	if !e.isEnded && (err != nil || e.left == 0) {
		e.isEnded = true
		close(e.ended)
	}
}

// failure is what ended the threads early, or nil.
func (e *engine) failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.failures...)
}

// halt stops every thread and waits for it; abrupt also cuts the connections,
// which wakes threads at once.
func (e *engine) halt(abrupt bool) {
	e.stop.Store(true)
	e.begin()
	if abrupt {
		for _, fd := range e.fds {
			unix.Shutdown(fd, unix.SHUT_RDWR)
		}
	}
	e.running.Wait()
}

// close frees what the threads held, after halt.
func (e *engine) close() {
	e.closeThreads()
	e.release()
}

func (e *engine) closeThreads() {
	for _, t := range e.threads {
		t.close()
	}
}

// silent is for how many calls in turn a thread has moved nothing, at most.
func (e *engine) silent() uint64 {
	var calls uint64
	for _, t := range e.threads {
		calls = max(calls, t.counter.silent.Load())
	}
	return calls
}
