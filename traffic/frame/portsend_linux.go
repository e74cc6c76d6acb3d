package frame

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// connectAtPort makes a sender at a port, and lets a probe show that its frames arrive.
func connectAtPort(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	from, err := l.checkPort(*order.Port)
	if err != nil {
		return nil, err
	}
	to, err := traffic.ParseMeeting(order.Address)
	if err != nil {
		return nil, err
	}
	s, err := joinAtPort(ctx, l, from, to)
	if err != nil {
		return nil, err
	}
	if t, foreign := l.tool(); foreign {
		return connectForeign(ctx, t, l, *order.Port, order.CPUs, s)
	}
	if order.Port.Device != "" {
		return connectAtDevice(ctx, l, order, s)
	}
	w := &sendWorker{load: l, session: s, device: portDevice(*order.Port), method: byPort, closing: make(chan struct{})}
	m, err := newPortMover(ctx, w, *order.Port)
	if err != nil {
		w.Close()
		return nil, err
	}
	w.opened = m.tester.close // the session at the port ends with the worker
	w.start = func() (mover, error) { return m, m.rate(l) }
	return w, nil
}

// joinAtPort greets a receiver at its Unix socket.
func joinAtPort(ctx context.Context, l load, from netip.Addr, m traffic.Meeting) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*handshakeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", m.Socket)
	if err != nil {
		return nil, fmt.Errorf("connecting to the receiver: %w", err)
	}
	s := &session{control: conn, from: from, to: m.At, apart: m.Carried}
	if err := s.greet(ctx, l); err != nil {
		return nil, errors.Join(fmt.Errorf("greeting the receiver at %s: %w", m, err), conn.Close())
	}
	return s, nil
}

// portMover lets a tester send. A request that fails ends the run: the tester notes it.
type portMover struct {
	tester *tester

	mu   sync.Mutex
	last usage // at the last change of phase
}

func newPortMover(ctx context.Context, w *sendWorker, p traffic.Port) (*portMover, error) {
	h, err := headerAtPort(w, p)
	if err != nil {
		return nil, err
	}
	t, err := dialTester(p)
	if err != nil {
		return nil, err
	}
	m := &portMover{tester: t}
	if err := m.begin(ctx, w, h); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return m, nil
}

func headerAtPort(w *sendWorker, p traffic.Port) (header, error) {
	h := header{
		from: w.session.from, to: w.session.to.Addr(), port: w.session.to.Port(),
		session: w.session.number, sizes: w.load.sizes, addresses: w.load.addresses,
	}
	h.atRate(w.load, w.session)
	var err error
	if h.source, h.destination, err = portMACs(p); err != nil || p.Tunnel == nil {
		return h, err
	}
	h.outer, err = wearing(*p.Tunnel, h.source, h.destination, p.Tunnel.Sends, h.ipv6())
	return h, err
}

// atRate has frames tell when they left only where a rate is kept, as flat out latency would be that of full rings, and where the
// sink has the sender's clock.
func (h *header) atRate(l load, s *session) { h.stamped = l.rate > 0 && !s.apart }

// begin readies the session at the port, and probes the path.
func (m *portMover) begin(ctx context.Context, w *sendWorker, h header) error {
	s, _ := newStamp(h)
	if err := m.source(s, w.load); err != nil {
		return err
	}
	return w.probeBy(ctx, byPort, probesLast, func() error {
		_, err := m.tester.ask("probe", probeFrames)
		return err
	})
}

// source tells of the frames: what they have in common, and of each size its length and sums.
func (m *portMover) source(s stamp, l load) error {
	about := []any{flag(s.ipv6()), flag(s.addresses), flag(s.stamped), s.port, 0, l.flows}
	request := "source"
	for _, of := range s.shapes {
		about = append(about, len(of.template), of.udp, of.ip, hex.EncodeToString(of.template[:s.headEnd()]))
		if _, err := m.tester.ask(request, about...); err != nil {
			return err
		}
		request, about = "turn", nil
	}
	if s.outer == nil {
		return nil
	}
	return m.tester.tunnel("wear", s.outer)
}

// rate sets the token bucket, in ps.
func (m *portMover) rate(l load) error {
	if l.rate == 0 {
		return nil
	}
	interval := 1e12 / l.rate
	_, err := m.tester.ask("rate", uint64(interval), uint64(interval*float64(l.burst-1)))
	return err
}

// tell asks for something; a failure is seen by who waits for one.
func (m *portMover) tell(request string, about ...any) []uint64 {
	numbers, _ := m.tester.ask(request, about...)
	return numbers
}

func (m *portMover) release() { m.tell("release") }

func (m *portMover) setPhase(phase uint32) {
	numbers := m.tell("phase", phase)
	at, cycles, err := readClock(numbers, 1)
	if err != nil { // the failure is noted
		at, numbers = time.Now(), make([]uint64, clockNumbers+1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = usage{at: at, calls: numbers[clockNumbers], spent: traffic.ThreadTime(cycles.BusyTime(), 0), cycles: cycles}
}

func (m *portMover) usage() usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

func (m *portMover) counts(in ...int) (sent, refused uint64) {
	numbers := m.tell("sent")
	if len(numbers) < clockNumbers+1+2*phases {
		return 0, 0
	}
	for _, phase := range in {
		n := numbers[clockNumbers+1+2*phase:]
		sent, refused = sent+n[0], refused+n[1]
	}
	return sent, refused
}

// skipped: what the port does not take is offered again.
func (m *portMover) skipped() uint64 { return 0 }

func (m *portMover) late(all *result.Recorder) {
	for bucket, frames := range m.tell("lag") {
		all.RecordMany(lagOf(bucket), frames)
	}
}

func (m *portMover) halt() { m.tell("halt") }

func (m *portMover) broken() <-chan struct{} { return m.tester.ended }

func (m *portMover) failure() error { return m.tester.failure() }
