package ntttcp

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"windtunnel/traffic"
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
	spent traffic.CrewTime // by the hot threads
}

type flow struct {
	bytes, calls uint64
	packets      uint64        // datagrams
	longer       uint64        // datagrams that were longer than the buffer
	away         time.Duration // for how long its system had no way to the other end, where it sends datagrams
	awayWhy      error         // nil: it always had one
	rtt, minRTT  time.Duration // 0: not known
	busy         time.Duration // a TCP sender had something to send
	rwnd, sndbuf time.Duration // of that, it was held up by the other end's window, by its own buffer
}

// fleet is every engine of one end of a test. Usually it is one; connections of
// threads that belong on different CPUs get an engine each, and so do those that
// come after the start, a batch at a time.
type fleet struct {
	test *Test

	mu      sync.Mutex
	crews   []crew
	early   int       // crews that were there at the start
	latest  time.Time // when the last one began, or all who were there at the start
	started bool
	halted  bool          // nobody joins any more
	active  int           // crews with a flow that has not ended
	idle    chan struct{} // one token when active fell to zero
	closing chan struct{}
	waiters sync.WaitGroup
}

// crew is one engine and the thread of each of its flows.
type crew struct {
	engine  engine
	threads []int
	cpu     int // of all of them; below 0: any
	hot     int // threads that serve them
}

// maxCrews bounds the batches of late connections: each has a hot thread of its own.
const maxCrews = 128

// lateBatch is how long late connections are gathered before they get an engine.
const lateBatch = 20 * time.Millisecond

// pause is how long after a crew the next one may begin. Half of all begin as they come; then each third waits twice as long, so
// that the last is used up after a day of connections without a gap, and a connection waits for a small part of the time so far.
// The caller holds the lock.
func (f *fleet) pause() time.Duration {
	return lateBatch << (max(0, len(f.crews)-maxCrews/2) / 3)
}

// gathers is how long late connections still have to wait for others before they may join.
func (f *fleet) gathers() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pause() - time.Since(f.latest)
}

func newFleet(t *Test) *fleet {
	return &fleet{test: t, idle: make(chan struct{}, 1), closing: make(chan struct{})}
}

var errCrowded = fmt.Errorf("connections came in more than %d batches: those that came later are closed", maxCrews)

// add takes connections over, also when it fails; once the fleet has started
// they move at once.
func (f *fleet) add(conns []dialled) error {
	var failures []error
	for _, group := range f.test.byCPU(conns) {
		if err := f.addCrew(group); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// byCPU groups connections by where their threads are pinned, in the order of the
// threads, since they may have come in any.
func (t *Test) byCPU(conns []dialled) [][]dialled {
	slices.SortStableFunc(conns, func(a, b dialled) int { return cmp.Compare(a.thread, b.thread) })
	var groups [][]dialled
	at := map[int]int{} // a CPU's group
	for _, d := range conns {
		cpu := t.Threads[d.thread].CPU
		i, known := at[cpu]
		if !known {
			i = len(groups)
			at[cpu] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	return groups
}

func (f *fleet) addCrew(conns []dialled) error {
	c := crew{threads: make([]int, len(conns)), cpu: f.test.Threads[conns[0].thread].CPU}
	sockets := make([]net.Conn, len(conns))
	for i, d := range conns {
		c.threads[i], sockets[i] = d.thread, d.conn
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.halted {
		closeConns(sockets)
		return nil
	}
	if f.started && len(f.crews) >= maxCrews {
		closeConns(sockets)
		return errCrowded
	}
	var err error
	c.hot = f.hotThreads(len(conns), c.cpu)
	if c.engine, err = f.test.engine(sockets, c.cpu, c.hot); err != nil {
		closeConns(sockets)
		return err
	}
	f.crews, f.latest = append(f.crews, c), time.Now()
	f.active++
	f.waiters.Go(func() { f.await(c.engine) })
	if f.started {
		c.engine.Start()
	}
	return nil
}

// hotThreads is how many serve so many connections more. All late ones together have as many as those who were there at the start
// could have, the first batch, which may be all but one connection, first, but each batch one at least.
func (f *fleet) hotThreads(connections, cpu int) int {
	n := f.test.hotThreads(connections, cpu)
	if !f.started {
		return n
	}
	left := f.test.hotThreads(maxConnections, cpu)
	for _, c := range f.crews[f.early:] {
		left -= c.hot
	}
	return max(1, min(n, left))
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
	f.started, f.early, f.latest = true, len(f.crews), time.Now()
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

// halt stops all engines at once, as each may take 0.1 s.
func (f *fleet) halt() {
	f.mu.Lock()
	f.halted = true
	f.mu.Unlock()
	var halting sync.WaitGroup
	for _, c := range f.all() {
		halting.Go(c.engine.Halt)
	}
	halting.Wait()
}

func (f *fleet) close() {
	f.halt()
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
	packets uint64 // datagrams
	longer  uint64 // datagrams that were longer than the buffer
	flows   int
	away    time.Duration // of all flows
	awayWhy error
	spent   traffic.CrewTime
	rtt     time.Duration
	minRTT  time.Duration // the longest of the flows' shortest; 0: not known
	busy    time.Duration // of all senders
	rwnd    time.Duration
	sndbuf  time.Duration
}

func (f *fleet) count() tally {
	sum := tally{at: time.Now(), threads: make([]ThreadOutcome, len(f.test.Threads))}
	var rtts time.Duration
	known := 0
	for _, c := range f.all() {
		now := c.engine.read()
		sum.spent.Add(now.spent)
		for i, flow := range now.flows {
			thread := &sum.threads[c.threads[i]]
			thread.Bytes += flow.bytes
			thread.Calls += flow.calls
			thread.packets += flow.packets
			sum.bytes += flow.bytes
			sum.calls += flow.calls
			sum.packets += flow.packets
			sum.longer += flow.longer
			sum.flows++
			sum.away += flow.away
			sum.awayWhy = cmp.Or(sum.awayWhy, flow.awayWhy)
			sum.busy += flow.busy
			sum.minRTT = max(sum.minRTT, flow.minRTT)
			sum.rwnd += flow.rwnd
			sum.sndbuf += flow.sndbuf
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
		Bytes:   sum.bytes - before.bytes, Calls: sum.calls - before.calls, Packets: sum.packets - before.packets,
		Connections: sum.flows, RTT: sum.rtt, CPUSeconds: sum.spent.Since(before.spent).CPU.Seconds(),
		Threads: make([]ThreadOutcome, len(sum.threads)),
	}
	for i, thread := range sum.threads {
		o.Threads[i] = ThreadOutcome{Bytes: thread.Bytes - before.threads[i].Bytes, Calls: thread.Calls - before.threads[i].Calls}
	}
	return o
}

// hotThreads is how many of them serve so many connections of threads that belong
// on one CPU, or on none.
func (t *Test) hotThreads(connections, cpu int) int {
	n := t.HotThreads
	switch {
	case len(t.CPUs) == 0 && cpu >= 0:
		n = 1
	case n <= 0:
		n = runtime.NumCPU()
	}
	return max(1, min(n, connections))
}

// cpus are those that the hot threads of such connections are bound to; empty: none.
func (t *Test) cpus(cpu int) []int {
	if len(t.CPUs) == 0 && cpu >= 0 {
		return []int{cpu}
	}
	return t.CPUs
}

func closeConns(conns []net.Conn) {
	for _, conn := range conns {
		conn.Close()
	}
}
