package ping

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"windtunnel/traffic"
)

// portablePatience is how often a waiting goroutine looks whether it should end.
const portablePatience = 100 * time.Millisecond

// portableEngine moves requests through net.Conn: what every system has. Its threads
// are goroutines, and their CPU time is that of the whole process.
type portableEngine struct {
	crew
	setup   setup
	conns   []net.Conn
	greeter *greeter // a UDP receiver's
	pingers []*portablePinger
	counts  []responderCounts // of a receiver's streams
}

var _ engine = (*portableEngine)(nil)

func newPortableEngine(s setup) (engine, error) {
	e := &portableEngine{setup: s, conns: s.ends.conns, greeter: s.ends.datagram}
	switch {
	case s.send:
		e.form(s.load.threads)
		for i := range s.load.threads {
			p := newPortablePinger(s.load, s.plan, i, deal(e.conns, i, s.load.threads), &e.stop)
			s.tallySteps(p.tally, i)
			e.pingers = append(e.pingers, p)
			e.spawn(p.work)
		}
	case e.greeter != nil:
		e.form(1)
		e.spawn(e.answerDatagrams)
	default:
		e.form(len(e.conns))
		e.counts = make([]responderCounts, len(e.conns))
		for i, conn := range e.conns {
			e.spawn(func() error { return e.answerStream(conn, &e.counts[i]) })
		}
	}
	return e, nil
}

func (e *portableEngine) spawn(work func() error) {
	e.running.Go(func() {
		<-e.start
		e.end(work())
	})
}

func (e *portableEngine) open()        { e.begin() }
func (e *portableEngine) threads() int { return e.setup.load.threads }

// answerDatagrams lets the greeter, which knows all flows, go on until they have
// ended.
func (e *portableEngine) answerDatagrams() error {
	look := time.NewTicker(portablePatience / 10)
	defer look.Stop()
	for !e.stop.Load() && !e.greeter.deserted() {
		<-look.C
	}
	return nil
}

// answerStream answers one flow until its sender ends it.
func (e *portableEngine) answerStream(conn net.Conn, counts *responderCounts) error {
	l := e.setup.load
	b, reply := make([]byte, 64<<10), make([]byte, max(l.longest(), 64<<10))
	got, asked := 0, uint64(0)
	for !e.stop.Load() {
		conn.SetReadDeadline(time.Now().Add(portablePatience))
		n, err := conn.Read(b)
		got += n
		if !l.mixed {
			counts.bytes.Add(uint64(n))
		}
		owed := 0
		for whole := l.request(asked); got >= whole; whole = l.request(asked) {
			got -= whole
			owed += l.answer(asked)
			counts.requests.Add(1)
			if l.isRead(asked) {
				counts.back.Add(uint64(l.message))
			} else if l.mixed {
				counts.bytes.Add(uint64(l.message))
			}
			asked++
		}
		for owed > 0 {
			sent, err := e.pay(conn, reply[:min(owed, len(reply))])
			if err != nil {
				return err
			}
			owed -= sent
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("the peer went away: %w", err)
		}
	}
	return nil
}

// pay writes what the socket takes; after a stop nothing more is owed.
func (e *portableEngine) pay(conn net.Conn, b []byte) (int, error) {
	conn.SetWriteDeadline(time.Now().Add(portablePatience))
	n, err := conn.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if e.stop.Load() {
			return len(b), nil
		}
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("the peer went away: %w", err)
	}
	return n, nil
}

func (e *portableEngine) snapshot() snapshot {
	s := snapshot{at: time.Now()}
	for i := range e.counts {
		s.seen.add(&e.counts[i])
	}
	if e.greeter != nil {
		s.seen.add(&e.greeter.seen)
	}
	user, system := traffic.ProcessCPU()
	s.spent = traffic.CrewTime{Threads: e.threads(), CPU: user + system} // of the process: the system tells no thread's
	return s
}

func (e *portableEngine) tallies() []*tally {
	var all []*tally
	for _, p := range e.pingers {
		all = append(all, p.tally)
	}
	return all
}

// part says farewell over UDP; the receiver also ends by itself.
func (e *portableEngine) part(hellos []hello) {
	flows := make([]introduction, len(hellos))
	for i, h := range hellos {
		h.Purpose = farewell
		flows[i] = introduction{conn: e.conns[i], hello: h}
	}
	for range farewells {
		for i := range flows {
			flows[i].say()
		}
		until, missing := time.Now().Add(farewellRound), false
		for i := range flows {
			flows[i].conn.SetReadDeadline(until)
			missing = !flows[i].hearGoodbye() || missing
		}
		if !missing {
			return
		}
	}
}

// A farewell is said so often, and so long apart.
const (
	farewells     = 20
	farewellRound = 50 * time.Millisecond
)

// hearGoodbye reads answers, old ones too, until one says goodbye or nobody is there.
func (f *introduction) hearGoodbye() bool {
	b := make([]byte, maxDatagram+1)
	for {
		n, err := f.conn.Read(b)
		if err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
		if a, err := decodeAnswer(b[:n]); err == nil && a.Status == goodbye {
			return true
		}
	}
}

func (e *portableEngine) close() { e.setup.ends.close() }
