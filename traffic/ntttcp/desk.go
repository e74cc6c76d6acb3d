package ntttcp

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// For how long a receiver waits for a sender's next message, by what it is.
const (
	firstPatience = 10 * time.Second // the state query, the time
	startPatience = time.Minute      // R: the sender opens its connections meanwhile
	replyPatience = 2 * time.Second  // of writing one answer
)

// desk serves the sync port of one receiver: callers and the referee between them.
type desk struct {
	listener net.Listener
	take     func(net.Listener) (net.Conn, error)
	refused  func(text string)
	handlers sync.WaitGroup

	mu      sync.Mutex
	referee *referee
	callers map[int]net.Conn
	next    int
	closing time.Time     // until when callers may stay once the desk closes; zero: it is open
	begun   chan struct{} // closed when the test starts
	said    time.Time     // when that was
	over    chan why      // holds how its senders have ended it, once they have
}

// openDesk listens on the port below the data ports, always by TCP.
func (r *Receiver) openDesk(ctx context.Context) (*desk, error) {
	t := r.test
	thread := t.Threads[0]
	listener, err := t.listen(ctx, thread.Host, thread.Port-1)
	if err != nil {
		return nil, fmt.Errorf("listening for senders that synchronise: %w", err)
	}
	d := &desk{
		listener: listener, take: r.take, callers: map[int]net.Conn{},
		referee: newReferee(wholeSeconds(t.Run), 0, t.Many),
		refused: func(text string) { t.say(Event{What: Refused, Text: text}) },
		begun:   make(chan struct{}), over: make(chan why, 1),
	}
	d.handlers.Go(d.accept)
	return d, nil
}

func wholeSeconds(d time.Duration) int { return int(d.Round(time.Second) / time.Second) }

func (d *desk) accept() {
	for {
		conn, err := d.take(d.listener)
		if err != nil {
			return
		}
		d.mu.Lock()
		id := d.next
		d.next++
		admitted := d.referee.join(id) || d.makeRoom() && d.referee.join(id)
		if admitted {
			d.callers[id] = conn
		}
		d.mu.Unlock()
		if !admitted {
			conn.Close()
			continue
		}
		d.handlers.Go(func() { d.serve(id, conn) })
	}
}

// makeRoom drops the caller that has been silent for longest, if there is one. The
// caller of it holds the lock.
func (d *desk) makeRoom() bool {
	oldest := -1
	for id := range d.callers {
		if d.referee.callers[id] == saysState && (oldest < 0 || id < oldest) {
			oldest = id
		}
	}
	if oldest < 0 {
		return false
	}
	d.callers[oldest].Close()
	delete(d.callers, oldest)
	d.referee.leave(oldest)
	return true
}

// serve hears one caller until it leaves.
func (d *desk) serve(id int, conn net.Conn) {
	defer d.leave(id, conn)
	for {
		d.bePatient(id, conn)
		value, err := readMessage(conn)
		if err != nil {
			return
		}
		d.mu.Lock()
		r := d.referee.hear(id, value)
		d.act(r)
		d.mu.Unlock()
		if r.drop != "" {
			d.refused(fmt.Sprintf("%s: %s", conn.RemoteAddr(), r.drop))
			return
		}
	}
}

// bePatient lets a caller be silent for as long as its step allows, and not beyond
// the desk's own end.
func (d *desk) bePatient(id int, conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	until := stepPatience(d.referee.callers[id])
	if !d.closing.IsZero() {
		until = d.closing
	}
	conn.SetReadDeadline(until)
}

func stepPatience(at step) time.Time {
	switch at {
	case saysState, saysTime:
		return time.Now().Add(firstPatience)
	case saysStart:
		return time.Now().Add(startPatience)
	case waits:
		return time.Now().Add(lastPatience)
	case left, dismissed:
		return time.Now().Add(goodbye)
	}
	return time.Time{} // it runs: the test's end bounds it
}

// act carries a ruling out. The caller holds the lock, so that all who wait are
// told before anything else happens.
func (d *desk) act(r ruling) {
	if r.start {
		d.said = time.Now()
		close(d.begun)
	}
	for _, reply := range r.replies {
		if conn := d.callers[reply.caller]; conn != nil {
			conn.SetWriteDeadline(time.Now().Add(replyPatience))
			writeMessage(conn, reply.value)
		}
	}
	if r.end != onTime {
		select {
		case d.over <- r.end:
		default: // it was over already
		}
	}
}

func (d *desk) leave(id int, conn net.Conn) {
	conn.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.callers, id)
	d.act(d.referee.leave(id))
}

// agreed is the total in seconds; 0: continuous. runners are the addresses of
// those who run, who are told so no earlier than said.
func (d *desk) agreed() (total int, said time.Time, runners map[netip.Addr]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	runners = map[netip.Addr]bool{}
	for id, conn := range d.callers {
		if d.referee.callers[id] == runs {
			runners[remoteIP(conn)] = true
		}
	}
	return int(d.referee.total), d.said, runners
}

// round is the next test's start and end.
func (d *desk) round() (begun <-chan struct{}, over <-chan why) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun, d.over
}

// settle ends a test at this end. Its senders may stay for their goodbye, and the
// next one may come.
func (d *desk) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range d.referee.dismiss() {
		d.callers[id].SetReadDeadline(time.Now().Add(goodbye))
	}
	d.begun, d.over = make(chan struct{}), make(chan why, 1)
}

// close lets those who ran say goodbye, and ends.
func (d *desk) close() {
	d.listener.Close()
	d.mu.Lock()
	d.closing = time.Now().Add(goodbye)
	for id, conn := range d.callers {
		conn.SetReadDeadline(d.closing)
		if at := d.referee.callers[id]; at != runs && at != left && at != dismissed {
			conn.Close()
		}
	}
	d.mu.Unlock()
	d.handlers.Wait()
}

// goodbye is how long a receiver that is done stays for its senders' E: their
// clocks began with its answer, so they end at nearly the same time.
const goodbye = time.Second
