package ping

import (
	"errors"
	"runtime"
	"sync"

	"windtunnel/traffic"
)

// hotThread is the work of one locked and pinned OS thread.
type hotThread struct {
	work   func() error
	poller *poller
	cpu    int
	clock  traffic.ThreadClock
}

// hotEngine drives sockets with hot threads.
type hotEngine struct {
	crew
	fds        []int
	all        []*hotThread
	pingers    []*pinger
	responders []*responder
	release    func()
	greeter    *greeter // of a receiver over UDP: it hears flows that have moved
}

// newEngine takes the ends over and returns when all threads stand pinned. It must be
// closed.
func newEngine(s setup) (engine, error) {
	fds, first, err := s.detachAll()
	if err != nil {
		return nil, err
	}
	e := &hotEngine{fds: fds, greeter: first}
	e.form(s.load.threads)
	for i := range s.load.threads {
		if err := e.add(s, i); err != nil {
			e.free()
			return nil, err
		}
	}
	e.release = traffic.HoldHot(len(e.all))
	var standing sync.WaitGroup
	standing.Add(len(e.all))
	for _, t := range e.all {
		e.running.Go(func() { e.end(t.run(standing.Done, e.start)) })
	}
	standing.Wait()
	if first != nil {
		first.watch(e.connect)
	}
	return e, nil
}

// add makes the i-th thread.
func (e *hotEngine) add(s setup, i int) error {
	hand := deal(e.fds, i, s.load.threads)
	t := &hotThread{cpu: traffic.CPUOf(s.cpus, i)}
	if s.send {
		g, err := newPinger(s.load, s.plan, i, hand, &e.stop)
		if err != nil {
			return err
		}
		for k := i; k < len(s.ends.hellos); k += s.load.threads { // as they were dealt
			g.flows[k/s.load.threads].moving.hello = &s.ends.hellos[k]
		}
		s.tallySteps(g.tally, i)
		e.pingers = append(e.pingers, g)
		t.work, t.poller = g.work, g.poller
	} else {
		p, err := newResponder(s.load, s.ends.token, hand, &e.stop)
		if err != nil {
			return err
		}
		e.responders = append(e.responders, p)
		t.work, t.poller = p.work, p.poller
	}
	e.all = append(e.all, t)
	return nil
}

// run is the goroutine of a thread. It ends without unlocking, so that the OS thread
// and its affinity end with it.
func (t *hotThread) run(ready func(), start <-chan struct{}) error {
	runtime.LockOSThread()
	t.clock.Begin()
	defer t.clock.End()
	err := t.settle()
	ready()
	if err != nil {
		return err
	}
	<-start
	return t.work()
}

func (t *hotThread) settle() error {
	if err := errors.Join(traffic.DeafenThread(), traffic.SharpenThread()); err != nil || t.cpu < 0 {
		return err
	}
	return traffic.PinThread(t.cpu)
}

func (e *hotEngine) open()        { e.begin() }
func (e *hotEngine) threads() int { return len(e.all) }

func (e *hotEngine) tallies() []*tally {
	var all []*tally
	for _, g := range e.pingers {
		all = append(all, g.tally)
	}
	return all
}

func (e *hotEngine) close() {
	e.free()
	e.release()
}

func (e *hotEngine) free() {
	if e.greeter != nil { // before the sockets that it connects
		e.greeter.close()
	}
	for _, t := range e.all {
		t.poller.close()
	}
	closeAll(e.fds)
}

// detachAll takes over every connection, and a receiver's first socket over UDP, or closes them all.
func (s setup) detachAll() (fds []int, first *greeter, err error) {
	defer s.ends.close()
	if s.ends.datagram != nil {
		s.ends.datagram.pause()
	}
	fds = make([]int, 0, len(s.ends.conns))
	for _, conn := range s.ends.conns {
		fd, err := s.load.detach(conn)
		if err != nil {
			closeAll(fds)
			return nil, nil, err
		}
		fds = append(fds, fd)
	}
	first, s.ends.datagram = s.ends.datagram, nil
	return fds, first, nil
}
