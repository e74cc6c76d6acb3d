package frame

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// firstPort is the session's first UDP port at a port of poll mode, where no stack has others.
const firstPort = 20000

// portTotals is how many totals of a phase a tester tells.
const portTotals = 7

// portRest is how many numbers follow: the frames of nobody, and the flows of frames without numbers.
const portRest = 2

// portSink lets a tester count.
type portSink struct {
	flows  uint64
	tester *tester
}

var (
	_ sink  = (*portSink)(nil)
	_ timer = (*portSink)(nil)

	_ spreader = (*portSink)(nil)
)

// listenAtPort makes a receiver at a port.
func listenAtPort(l load, order traffic.Order) (traffic.Worker, error) {
	p := *order.Port
	ip, err := l.checkPort(p)
	if err != nil {
		return nil, err
	}
	if p.Device != "" {
		return listenAtDevice(l, order, ip)
	}
	t, err := dialTester(p)
	if err != nil {
		return nil, err
	}
	session := newSession()
	if err := expectAtPort(t, l, p, session, ip.Is6()); err != nil {
		return nil, errors.Join(err, t.close())
	}
	m, socket, err := meet(p, ip, session)
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	counting := &portSink{tester: t, flows: uint64(l.flows)}
	ln := newListener(socket, nil, l, helloOf(l, ip), session, counting)
	return &receiveWorker{load: l, device: portDevice(p), listener: ln, address: m.String(), sink: counting, closing: make(chan struct{})}, nil
}

// meet opens the socket by which a session's sender finds its receiver.
func meet(p traffic.Port, ip netip.Addr, session uint32) (traffic.Meeting, net.Listener, error) {
	m := traffic.Meeting{At: netip.AddrPortFrom(ip, firstPort), Socket: filepath.Join(filepath.Dir(p.Tester), fmt.Sprintf("meet-%08x", session))}
	socket, err := net.Listen("unix", m.Socket)
	if err != nil {
		return m, nil, fmt.Errorf("listening for the sender: %w", err)
	}
	return m, socket, nil
}

// expectAtPort begins a session's sink.
func expectAtPort(t *tester, l load, p traffic.Port, session uint32, ipv6 bool) error {
	about := []any{session, l.flows, wordsPerFlow(l.flows), flag(ipv6)}
	if _, foreign := l.tool(); foreign { // without numbers
		about = []any{session, 0, 0, flag(ipv6)}
	}
	for _, size := range l.sizes {
		about = append(about, size-fcsSize)
	}
	if _, err := t.ask("sink", about...); err != nil || p.Tunnel == nil {
		return err
	}
	o, err := expectedOuter(p, ipv6)
	if err != nil || o == nil {
		return err
	}
	return t.tunnel("strip", o)
}

func (s *portSink) tally() (tally, error) {
	all, _, _, err := s.read()
	return all, err
}

func (s *portSink) read() (all tally, at time.Time, c result.Cycles, err error) {
	numbers, err := s.tester.ask("tally")
	if err != nil {
		return all, at, c, err
	}
	at, c, err = readClock(numbers, phases*portTotals+portRest)
	if err != nil {
		return all, at, c, err
	}
	for phase := range phases {
		n := numbers[clockNumbers+phase*portTotals:]
		all.add(atPort, phase, totals{packets: n[0], skipped: n[1], reordered: n[2], duplicate: n[3], late: n[4], corrupt: n[5], bytes: n[6]})
	}
	all.flows = numbers[clockNumbers+phases*portTotals+1]
	return all, at, c, nil
}

func (s *portSink) flights() ([]uint64, error) { return s.tester.ask("flights") }

func (s *portSink) perFlow() (spread result.PerFlow, err error) {
	n, err := s.tester.ask("spread")
	if err != nil {
		return spread, err
	}
	if len(n) != 3 {
		return spread, fmt.Errorf("the tester told %d numbers of how frames are spread over flows, not 3", len(n))
	}
	return result.PerFlow{Came: n[0], Fewest: n[1], Most: n[2], Flows: s.flows}, nil
}

func (s *portSink) method() (how, why string) { return byPort, "" }

func (s *portSink) close() error { return s.tester.close() }
