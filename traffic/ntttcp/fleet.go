package ntttcp

import (
	"net"
	"runtime"
	"sync"
	"time"
)

// engine moves payload over sockets that it owns; traffic/stream and
// traffic/datagram are behind it.
type engine interface {
	Start()
	Done() <-chan struct{} // closed when every flow has ended
	Halt()                 // nothing moves any more; what was counted stays
	Close()
	Err() error // what ended flows other than a limit or the peer's end
	read() reading
}

// reading is what an engine has counted since its start.
type reading struct {
	flows []flow
	cpu   time.Duration
}

type flow struct {
	bytes, calls uint64
	rtt          time.Duration // 0: not known
}

// fleet is every engine of one end of a test. Usually it is one; connections
// that come after the start get one of their own, a batch at a time.
type fleet struct {
	test *Test

	mu      sync.Mutex
	crews   []crew
	started bool
	active  int           // crews with a flow that has not ended
	idle    chan struct{} // one token when active fell to zero
	closing chan struct{}
	waiters sync.WaitGroup
}

// crew is one engine and the thread of each of its flows.
type crew struct {
	engine  engine
	threads []int
}

// maxCrews bounds the batches of late connections.
const maxCrews = 256

func newFleet(t *Test) *fleet {
	return &fleet{test: t, idle: make(chan struct{}, 1), closing: make(chan struct{})}
}

// add takes connections over, also when it fails; once the fleet has started
// they move at once.
func (f *fleet) add(conns []dialled) error {
	if len(conns) == 0 {
		return nil
	}
	c := crew{threads: make([]int, len(conns))}
	sockets := make([]net.Conn, len(conns))
	for i, d := range conns {
		c.threads[i], sockets[i] = d.thread, d.conn
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.crews) == maxCrews {
		closeConns(sockets)
		return nil
	}
	var err error
	if c.engine, err = f.test.engine(sockets); err != nil {
		closeConns(sockets)
		return err
	}
	f.crews = append(f.crews, c)
	f.active++
	f.waiters.Go(func() { f.await(c.engine) })
	if f.started {
		c.engine.Start()
	}
	return nil
}

// await takes an engine's end to notice.
func (f *fleet) await(e engine) {
	select {
	case <-e.Done():
	case <-f.closing:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active--
	if f.active == 0 {
		select {
		case f.idle <- struct{}{}:
		default:
		}
	}
}

func (f *fleet) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = true
	for _, c := range f.crews {
		c.engine.Start()
	}
}

// busy tells whether a flow still moves: a batch may have come after idle spoke.
func (f *fleet) busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.active > 0
}

// failure is the first engine's that has one.
func (f *fleet) failure() error {
	for _, c := range f.all() {
		if err := c.engine.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) halt() {
	for _, c := range f.all() {
		c.engine.Halt()
	}
}

func (f *fleet) close() {
	close(f.closing)
	f.waiters.Wait()
	for _, c := range f.all() {
		c.engine.Close()
	}
}

func (f *fleet) all() []crew {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crews
}

// tally is what a fleet has counted by a moment.
type tally struct {
	at      time.Time
	threads []ThreadOutcome
	bytes   uint64
	calls   uint64
	packets uint64 // of a server's session: datagrams
	flows   int
	cpu     time.Duration
	rtt     time.Duration
}

func (f *fleet) count() tally {
	sum := tally{at: time.Now(), threads: make([]ThreadOutcome, len(f.test.Threads))}
	var rtts time.Duration
	known := 0
	for _, c := range f.all() {
		now := c.engine.read()
		sum.cpu += now.cpu
		for i, flow := range now.flows {
			thread := &sum.threads[c.threads[i]]
			thread.Bytes += flow.bytes
			thread.Calls += flow.calls
			sum.bytes += flow.bytes
			sum.calls += flow.calls
			sum.flows++
			if flow.rtt > 0 {
				rtts += flow.rtt
				known++
			}
		}
	}
	if known > 0 {
		sum.rtt = rtts / time.Duration(known)
	}
	return sum
}

// since is what a window saw between two tallies; a crew that came in between
// began at zero.
func (sum tally) since(before tally) Outcome {
	o := Outcome{
		Seconds: sum.at.Sub(before.at).Seconds(),
		Bytes:   sum.bytes - before.bytes, Calls: sum.calls - before.calls,
		Connections: sum.flows, RTT: sum.rtt, CPUSeconds: (sum.cpu - before.cpu).Seconds(),
		Threads: make([]ThreadOutcome, len(sum.threads)),
	}
	for i, thread := range sum.threads {
		o.Threads[i] = ThreadOutcome{Bytes: thread.Bytes - before.threads[i].Bytes, Calls: thread.Calls - before.threads[i].Calls}
	}
	return o
}

// hotThreads is how many of them serve so many connections.
func (t *Test) hotThreads(connections int) int {
	n := t.HotThreads
	if n <= 0 {
		n = runtime.NumCPU()
	}
	return max(1, min(n, connections))
}

// cpus are the CPUs that the threads of the test are bound to; empty: none.
func (t *Test) cpus() []int {
	if len(t.CPUs) > 0 {
		return t.CPUs
	}
	var all []int
	for _, thread := range t.Threads {
		if thread.CPU < 0 {
			return nil
		}
		all = append(all, thread.CPU)
	}
	return all
}

func closeConns(conns []net.Conn) {
	for _, conn := range conns {
		conn.Close()
	}
}
