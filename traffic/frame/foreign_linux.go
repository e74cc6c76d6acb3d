package frame

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// aim is what a program of others is to send, and from where.
type aim struct {
	socket           string // the data plane's vhost-user socket
	cpu              int    // -1: any
	mac, hop         string
	from, to         netip.Addr
	fromPort, toPort uint16
	flows            int // which differ in their source ports, from fromPort on
	length           int // bytes of a frame without FCS
	program          string
}

// driver drives a program of others by what it has for that: a console, or an API. A failure is the
// end of the program.
type driver interface {
	start() error
	stop() error
	// sent counts the frames since the start that the port took, and those that it turned away.
	sent() (sent, refused uint64, err error)
	version() string
	process() *console
	// close ends the program, and takes away what it had.
	close() error
}

// drivers begin a tool: it is ready when they return.
var drivers = map[string]func(context.Context, aim) (driver, error){"testpmd": newTestpmd, "pktgen": newPktgen, "trex": newTrex}

// foreignMover lets a program of others send. Its frames have no numbers, and are counted for the
// window while it lasts.
type foreignMover struct {
	driver driver
	end    sync.Once
	ended  chan struct{} // closed at the first failure

	mu      sync.Mutex
	running bool
	past    shot // of the runs that have ended
	marks   [phases + 1]shot
	phase   int
	failed  error
}

// shot is the frames at one instant.
type shot struct {
	sent, refused uint64
	usage         usage
}

// connectForeign makes a sender of a tool, and lets a probe show that its frames arrive.
func connectForeign(ctx context.Context, t tool, l load, p traffic.Port, cpus []int, s *session) (traffic.Worker, error) {
	w := &sendWorker{load: l, session: s, device: portDevice(p), method: t.name, closing: make(chan struct{})}
	from := s.from
	switch {
	case p.Socket == "":
		return nil, errors.Join(fmt.Errorf("%s sends at the socket of a data plane's port, and %s has none", t.name, p.Name), s.control.Close())
	case p.Tunnel != nil || from.Is6():
		return nil, errors.Join(fmt.Errorf("%s sends plain frames of IPv4, and those of %s are others", t.name, p.Name), s.control.Close())
	}
	d, err := drivers[t.name](ctx, aim{
		socket: p.Socket, cpu: traffic.CPUOf(cpus, 0), mac: p.MAC, hop: p.NextHop, from: from, to: s.to.Addr(),
		fromPort: firstPort, toPort: s.to.Port(), flows: int(l.flows), length: l.sizes[0] - fcsSize, program: t.program,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the generator %s: %w", t.name, err), s.control.Close())
	}
	m := &foreignMover{driver: d, ended: make(chan struct{})}
	w.generator = &result.Generator{Name: t.name, Version: d.version(), Command: d.process().line()}
	w.opened = d.close
	w.start = func() (mover, error) { return m, nil }
	if err := w.probeBy(ctx, t.name, probesLast, m.probe); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	d.process().settled()
	return w, nil
}

// probe lets some frames go: so few as the time between two commands allows.
func (m *foreignMover) probe() error {
	m.release()
	m.halt()
	m.mu.Lock()
	m.marks[warmUp] = m.past // which is none of a trial's
	m.mu.Unlock()
	return m.failure()
}

func (m *foreignMover) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks[warmUp] = m.past
	if !m.note(m.driver.start()) {
		m.running = true
	}
}

// halt stops the program's run, and keeps what it came to.
func (m *foreignMover) halt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.running {
		return
	}
	m.running = false
	if m.note(m.driver.stop()) {
		return
	}
	sent, refused, err := m.driver.sent()
	m.note(err)
	m.past.sent, m.past.refused = m.past.sent+sent, m.past.refused+refused
}

// now is all frames so far, those of the probe too.
func (m *foreignMover) now() shot {
	s := m.past
	s.usage.at = time.Now()
	if m.running {
		sent, refused, err := m.driver.sent()
		m.note(err)
		after := time.Now()
		s.sent, s.refused = s.sent+sent, s.refused+refused
		s.usage.at = s.usage.at.Add(after.Sub(s.usage.at) / 2) // it counted somewhere between
	}
	cpu, wait := m.driver.process().used()
	s.usage.spent = traffic.ThreadTime(cpu, wait) // of all the program's threads: which of them sends is not known
	return s
}

func (m *foreignMover) setPhase(phase uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase = int(phase)
	m.marks[phase] = m.now()
}

func (m *foreignMover) usage() usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.marks[m.phase].usage
}

// counts are of whole phases, one after the other; the last is as far as it has come.
func (m *foreignMover) counts(in ...int) (sent, refused uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	begin, end := m.marks[in[0]], m.marks[in[len(in)-1]+1]
	if in[len(in)-1] >= m.phase {
		end = m.now()
	}
	return end.sent - begin.sent, end.refused - begin.refused
}

// skipped: there are no numbers.
func (m *foreignMover) skipped() uint64 { return 0 }

// total is all that was ever sent, once it has stopped.
func (m *foreignMover) total() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.past.sent
}

func (m *foreignMover) late(*result.Recorder) {} // there is no time at which a frame is due

func (m *foreignMover) broken() <-chan struct{} { return m.ended }

func (m *foreignMover) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// note keeps the first failure, and tells whether this is one.
func (m *foreignMover) note(err error) bool {
	if err == nil {
		return false
	}
	if m.failed == nil {
		m.failed = fmt.Errorf("the generator %s: %w", strings.Fields(m.driver.process().line())[0], err)
	}
	m.end.Do(func() { close(m.ended) })
	return true
}
