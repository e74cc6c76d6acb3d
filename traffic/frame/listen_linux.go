package frame

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

const (
	// maxGreeting is how many connections may be unidentified at once.
	maxGreeting = 16
	// portTries is how often a receiver looks for ports that are free together.
	portTries = 32
)

// listener waits for one sender and serves its control connection.
type listener struct {
	door     *lobby.Doorman
	reserved []*net.UDPConn // the session's ports: behind an AF_PACKET sink, frames end here unanswered
	want     hello
	session  uint32
	probed   func() (uint64, error)
	vacant   func()         // takes a better place for the sink, if it has become free; nil: there is none
	joined   chan struct{}  // closed when a sender has joined
	last     chan parting   // what that sender said in the end
	refused  atomic.Uint64  // frames that its device refused, so far
	all      atomic.Bool    // and no others will be
	told     chan struct{}  // has a token when it told of either
	again    sync.WaitGroup // serves that sender in sessions after the first

	mu     sync.Mutex
	closed bool
	sender net.Conn
}

// parting is a sender's last word, or why there was none.
type parting struct {
	final final
	err   error
}

// listen makes a receiver: its sink counts from now on.
func listen(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	if order.Port != nil {
		return listenAtPort(l, order)
	}
	ip, _, err := localAddress(order.Address)
	if err != nil {
		return nil, err
	}
	d, err := deviceWith(ip)
	if err != nil {
		return nil, err
	}
	if err := fits(l.sizes, ip.Is6(), d.mtu); err != nil {
		return nil, err
	}
	socket, reserved, err := reserve(ctx, order.Address, portsUsed(l, ip.Is6()))
	if err != nil {
		return nil, err
	}
	e := expected{session: newSession(), flows: l.flows, sizes: l.sizes, ipv6: ip.Is6()}
	counting, err := newSink(l.sink, e, d, traffic.CPUOf(order.CPUs, 0))
	if err != nil {
		socket.Close()
		closeAll(reserved)
		return nil, err
	}
	ln := newListener(socket, reserved, l, helloOf(l, ip), e.session, counting)
	return &receiveWorker{load: l, order: order, device: d, listener: ln, address: ln.door.Address().String(), sink: counting, closing: make(chan struct{})}, nil
}

func newListener(socket net.Listener, reserved []*net.UDPConn, l load, want hello, session uint32, counting sink) *listener {
	ln := &listener{
		door: lobby.NewDoorman(socket, maxGreeting, handshakeTimeout), reserved: reserved, want: want, session: session,
		joined: make(chan struct{}), last: make(chan parting, 1), told: make(chan struct{}, 1),
		probed: probesCame(counting, l),
	}
	if b, is := counting.(*bpfSink); is {
		ln.vacant = b.takeVacant
	}
	ln.door.Open(helloSize, ln.greet, ln.lack)
	return ln
}

// probesCame tells how many of a probe's frames have come to a sink so far, in aggregates too: that these cannot be counted is told of
// the window's.
func probesCame(counting sink, l load) func() (uint64, error) {
	return func() (uint64, error) {
		all, err := counting.tally()
		if _, foreign := l.tool(); foreign { // whose frames say nothing of a phase
			return all.phases[window].packets, err
		}
		return all.phases[probing].packets + all.phases[probing].merged, err
	}
}

func newSession() uint32 {
	var b [4]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:])
}

// greet judges a hello. The first sender whose order agrees is served; strangers
// are hung up on.
func (ln *listener) greet(b []byte, conn net.Conn) {
	h, err := decodeHello(b)
	status := h.judge(ln.want)
	ln.mu.Lock()
	switch {
	case err != nil || ln.closed:
		ln.mu.Unlock()
		conn.Close()
		return
	case status == welcome && ln.sender != nil:
		status = taken
	case status == welcome:
		ln.sender = conn
		ln.door.Shut()
		conn.SetDeadline(time.Time{})
	}
	ln.mu.Unlock()
	if _, err := conn.Write(encodeAnswer(status, ln.session)); err != nil || status != welcome {
		conn.Close()
	}
	if status == welcome {
		close(ln.joined)
		ln.last <- ln.serve(conn)
	}
}

// lack tells a sender that there is no file for its connection.
func (ln *listener) lack(b []byte, conn net.Conn) {
	if _, err := decodeHello(b); err == nil {
		_, _ = conn.Write(encodeAnswer(noFiles, ln.session))
	}
	conn.Close()
}

// serve answers a sender until its last word.
func (ln *listener) serve(conn net.Conn) parting {
	b := make([]byte, messageSize)
	for {
		if _, err := io.ReadFull(conn, b); err != nil {
			return parting{err: fmt.Errorf("the sender went away: %w", err)}
		}
		m, err := decodeMessage(b)
		if err != nil {
			return parting{err: err}
		}
		switch m.kind {
		case tellRefused:
			ln.hearRefused(m)
			continue
		case askCount:
			err = ln.answer(conn)
		case askAgain:
			err = ln.tellSession(conn)
		default:
			return hearOut(conn, m)
		}
		if err != nil {
			return parting{err: fmt.Errorf("answering the sender: %w", err)}
		}
	}
}

// hearRefused: frames are refused also where the XDP that let them through has gone.
func (ln *listener) hearRefused(m message) {
	if ln.refused.Swap(m.numbers[0]) < m.numbers[0] && ln.vacant != nil {
		ln.vacant()
	}
	ln.all.Store(m.numbers[1] != 0)
	select {
	case ln.told <- struct{}{}:
	default:
	}
}

// knowsRefused tells whether a sender that stopped early has said what its device refused; its word may be under way.
func (ln *listener) knowsRefused() bool {
	timer := time.NewTimer(lastRefusal)
	defer timer.Stop()
	for !ln.all.Load() {
		select {
		case <-ln.told:
		case gone := <-ln.last: // without it
			ln.last <- gone
			return ln.all.Load()
		case <-timer.C:
			return false
		}
	}
	return true
}

func (ln *listener) answer(conn net.Conn) error {
	count, err := ln.probed()
	if err != nil {
		return err
	}
	conn.SetWriteDeadline(time.Now().Add(handshakeTimeout))
	_, err = conn.Write(message{kind: tellCount, numbers: [numbersInMessage]uint64{count}}.encode())
	return err
}

// tellSession answers a sender that is kept for the session.
func (ln *listener) tellSession(conn net.Conn) error {
	conn.SetWriteDeadline(time.Now().Add(handshakeTimeout))
	_, err := conn.Write(encodeAnswer(welcome, ln.session))
	return err
}

// renew serves the sender of the session before, whose last word was heard, in another one.
func (ln *listener) renew(session uint32) error {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.closed || ln.sender == nil {
		return errClosed
	}
	if err := silentOn(ln.sender); err != nil {
		return err
	}
	last := make(chan parting, 1)
	ln.session, ln.last = session, last
	ln.refused.Store(0)
	ln.all.Store(false)
	ln.again.Go(func() { last <- ln.serve(ln.sender) })
	return nil
}

// lastRefusal is how much later than a sender's stop its word may come of what was refused: it ends its frames first.
const lastRefusal = 200 * time.Millisecond

// hangUp is how long a sender that has gone may take to be seen as such: its connection's end came before this one's trial did.
const hangUp = time.Millisecond

// silentOn is an error unless a sender is there and waits for its turn: nobody else could join.
func silentOn(conn net.Conn) error {
	conn.SetReadDeadline(time.Now().Add(hangUp))
	defer conn.SetReadDeadline(time.Time{})
	n, err := conn.Read(make([]byte, 1))
	switch {
	case n > 0:
		return errors.New("the sender speaks out of turn")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return fmt.Errorf("the sender went away: %w", err)
}

// hearOut takes a sender's last word, and repeats it.
func hearOut(conn net.Conn, m message) parting {
	f, err := m.final()
	if err == nil {
		conn.SetWriteDeadline(time.Now().Add(handshakeTimeout))
		_, err = conn.Write(f.message().encode())
	}
	return parting{f, err}
}

// close ends every connection and waits for who serves it.
func (ln *listener) close() {
	ln.mu.Lock()
	ln.closed = true
	ln.door.Shut()
	if ln.sender != nil {
		ln.sender.Close()
	}
	ln.mu.Unlock()
	ln.door.Wait()
	ln.again.Wait()
	closeAll(ln.reserved)
}
