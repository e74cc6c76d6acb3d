package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// arrival is a data connection, numbered in the order in which the server
// accepted it.
type arrival struct {
	conn  *net.TCPConn
	index uint64
}

// gate lets a session's TCP connections in while it waits for them.
type gate struct {
	mu   sync.Mutex
	left int // how many more may come
	in   chan arrival
}

func (g *gate) open(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.in = n, make(chan arrival, n)
}

// shut closes what came and nobody took, and tells whether more may come.
func (g *gate) shut() (lacks bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	lacks, g.left = g.left > 0, 0
	for len(g.in) > 0 {
		(<-g.in).conn.Close()
	}
	return lacks
}

// join is false for a connection that this session does not wait for.
func (s *session) join(a arrival) bool {
	s.arrivals.mu.Lock()
	defer s.arrivals.mu.Unlock()
	if s.arrivals.left == 0 {
		return false
	}
	s.arrivals.left--
	s.arrivals.in <- a // there is room for each that may come
	return true
}

// lackFiles ends a session that waits for streams: the server had no file for one.
func (s *session) lackFiles() {
	select {
	case s.noFiles <- struct{}{}:
	default:
	}
}

// gather lets the client make its streams and takes them, in its order.
func (s *session) gather(ctx context.Context) error {
	if s.test.Protocol == UDP {
		return s.gatherUDP(ctx)
	}
	n := s.test.streams()
	s.arrivals.open(n)
	if err := s.control.sendState(createStreams); err != nil {
		return ErrControlClosed
	}
	var came []arrival
	defer func() { // what became no stream
		for _, a := range came[min(len(came), len(s.streams)):] {
			a.conn.Close()
		}
	}()
	for len(came) < n {
		select {
		case a := <-s.arrivals.in:
			came = append(came, a)
		case <-s.noFiles:
			return &sessionError{number: ErrorStreamAccept, err: errNoFiles}
		case h := <-s.control.listen():
			return s.early(h)
		case <-ctx.Done():
			return ErrServerTerminated
		case <-time.After(streamTimeout):
			return s.tooFew(len(came), streamTimeout)
		}
	}
	slices.SortFunc(came, func(a, b arrival) int { return int(int64(a.index - b.index)) })
	options := s.options()
	if !s.params.MPTCP { // which has no such option; iperf3 sets it on control connections alone
		options.userTimeout = s.server.options.SendTimeout
	}
	for i, a := range came {
		if err := options.apply(a.conn); err != nil {
			return err
		}
		s.streams = append(s.streams, newStream(i, a.conn, s.test.sends(i, true)))
	}
	return nil
}

// options are what a stranger asks for of the data sockets.
func (s *session) options() socketOptions {
	o := s.test.options()
	o.within = true
	return o
}

func (s *session) tooFew(came int, limit time.Duration) error {
	return &sessionError{number: ErrorStreamAccept, err: fmt.Errorf("the client made %d of %d streams and then none for %s", came, s.test.streams(), limit)}
}

// early is what a client means that speaks, or goes, while it should make streams.
func (s *session) early(h heard) error {
	s.control.heard()
	switch {
	case h.err != nil:
		return h.err
	case h.state == clientTerminate, h.state == iperfDone: // which says that it could not make them
		return ErrClientTerminated
	}
	return &sessionError{number: ErrorMessage, err: errors.New("the client sent " + h.state.String() + " while its streams were due")}
}

// gatherUDP waits until it is this session's turn among those of the client's
// address, because a greeting does not say whose it is.
func (s *session) gatherUDP(ctx context.Context) error {
	options := s.options()
	options.device = s.server.options.BindDevice
	t := s.server.greeter.enroll(s.control.conn, s.test.streams(), options)
	defer s.server.greeter.leave(t)
	select {
	case <-t.begun:
	case h := <-s.control.listen():
		return s.early(h)
	case <-ctx.Done():
		return ErrServerTerminated
	}
	t.since = time.Now()
	if err := s.server.greeter.reserve(t); err != nil {
		return err
	}
	if err := s.control.sendState(createStreams); err != nil {
		return ErrControlClosed
	}
	adopt := time.NewTicker(adoptAfter)
	defer adopt.Stop()
	if s.test.Reverse || s.test.Bidirectional { // nothing is sent to an address that a forged greeting names
		adopt.Stop()
	}
	limit, pressed := streamTimeout, t.pressed
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for len(s.streams) < s.test.streams() {
		select {
		case conn := <-t.came:
			i := len(s.streams)
			s.streams = append(s.streams, newStream(i, conn, s.test.sends(i, true)))
			s.server.greeter.rescue(s.streams[i], rescueWait)
			timer.Reset(limit)
		case <-adopt.C:
			s.server.greeter.adopt(t)
		case err := <-t.failed:
			return err
		case <-pressed:
			limit, pressed = hurriedTimeout, nil
			timer.Reset(limit)
		case h := <-s.control.listen():
			return s.early(h)
		case <-ctx.Done():
			return ErrServerTerminated
		case <-timer.C:
			return s.tooFew(len(s.streams), limit)
		}
	}
	return nil
}
