package oneoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// How long a receiver waits for a sender.
const (
	helloPatience   = 5 * time.Second
	preparePatience = 30 * time.Second                     // a sender may calibrate itself first
	startPatience   = 30 * time.Second                     // and connect a thousand streams
	workerPatience  = 5 * time.Second                      // to listen
	endPatience     = traffic.LongestQueue + 5*time.Second // for a worker, after its schedule
	leavePatience   = 2 * time.Second                      // for the sender to read the last line
	longestDelay    = 10 * time.Second                     // before a start
)

// session is one sender at a receiver.
type session struct {
	server *native
	wire   *wire
	client string
	number uint64
	last   bool   // there is no file for anything more
	theirs string // the sender's release, as it says
	kind   traffic.Kind
	load   result.Options
	times  times
	end    *result.PairEnd
}

// run is the whole of it; its error is what the sender was told, too. The last
// line leaves when the session's place is free again: whoever reads it may come
// back at once.
func (s *session) run(ctx context.Context) error {
	var no refusal
	if err := s.greet(); err != nil {
		if errors.As(err, &no) {
			_ = s.wire.write(reply{Say: sayRefused, Why: no.why})
		}
		return err
	}
	err := s.measure(ctx)
	defer s.part()
	switch {
	case errors.As(err, &no):
		_ = s.wire.write(reply{Say: sayRefused, Why: no.why})
	case err != nil:
		_ = s.wire.write(reply{Say: sayFailed, Why: err.Error(), End: s.end})
	default:
		if err := s.wire.write(reply{Say: sayEnd, End: s.end}); err != nil {
			return fmt.Errorf("sending the result: %w", err)
		}
	}
	return err
}

// greet exchanges hellos.
func (s *session) greet() error {
	mine := hello{Windtunnel: protocolVersion, Role: roleReceive, Release: s.server.Release, Kinds: s.server.kinds()}
	if err := s.wire.write(mine); err != nil {
		return fmt.Errorf("greeting: %w", err)
	}
	var theirs hello
	patience := helloPatience
	if s.last { // nobody else can come meanwhile
		patience = time.Second
	}
	if err := s.wire.read(&theirs, patience); err != nil {
		return fmt.Errorf("waiting for a hello: %w", err)
	}
	if theirs.Windtunnel != protocolVersion || theirs.Role != roleSend {
		return refuse("this receiver speaks version %d of the protocol with senders, not version %d with %q: use the same release at both ends",
			protocolVersion, theirs.Windtunnel, result.Clip(theirs.Role))
	}
	s.theirs = result.Clean(result.Clip(theirs.Release))
	return nil
}

// measure takes the sender's order and runs it.
func (s *session) measure(ctx context.Context) error {
	if s.last {
		return refuse("this receiver may open no more files: raise its limit (ulimit -n), or try again later")
	}
	var order ask
	if err := s.wire.read(&order, preparePatience); err != nil {
		return fmt.Errorf("waiting for an order: %w", err)
	}
	if err := s.take(order); err != nil {
		return err
	}
	var err error
	if s.number, err = s.server.admit(s.wire, memoryOf(s.load)); err != nil {
		return err
	}
	defer s.server.dismiss(s.wire, memoryOf(s.load))
	worker, err := s.prepare(ctx)
	if err != nil {
		return refuse("preparing to receive: %v", err)
	}
	defer worker.Close()
	if err := s.wire.write(reply{Say: sayReady, Address: worker.Address()}); err != nil {
		return fmt.Errorf("answering: %w", err)
	}
	var start ask
	if err := s.wire.read(&start, startPatience); err != nil {
		return fmt.Errorf("waiting for the start: %w", err)
	}
	heard, in := time.Now(), seconds(start.InSeconds)
	if start.Do != doStart || in < 0 || in > longestDelay {
		return refuse("wanted %q within %s, got %q in %g s", doStart, longestDelay, result.Clip(start.Do), start.InSeconds)
	}
	if err := s.wire.write(reply{Say: sayStarting}); err != nil {
		return fmt.Errorf("answering the start: %w", err)
	}
	e := s.event(traffic.SessionBegan)
	e.Says = s.says()
	s.server.tell(e)
	return s.receive(ctx, worker, heard.Add(in))
}

// event is one of this session's.
func (s *session) event(what string) traffic.ServerEvent {
	return traffic.ServerEvent{Protocol: s.server.Name(), Session: s.number, Client: s.client, What: what, Requests: asks(s.load)}
}

// take checks an order.
func (s *session) take(order ask) error {
	if order.Do != doPrepare {
		return refuse("wanted %q, got %q", doPrepare, result.Clip(order.Do))
	}
	kind, err := KindByName(order.Kind)
	if err != nil {
		return refuse("%v", err)
	}
	if !slices.Contains(s.server.kinds(), kind.Name()) {
		return refuse("this receiver takes %s, not %s (its --kinds)", result.Listed(s.server.kinds()), kind.Name())
	}
	load, err := complete(kind, order.Load)
	if err != nil {
		return refuse("%v%s", err, s.otherRelease())
	}
	if err := affordable(load); err != nil {
		return refuse("%v", err)
	}
	s.kind, s.load = kind, load
	s.times = times{seconds(order.WarmUpSeconds), seconds(order.WindowSeconds), seconds(order.IntervalSeconds)}
	if err := s.times.check(); err != nil {
		return refuse("%v", err)
	}
	if limit := s.server.config.MaxTime; limit > 0 && s.times.warmUp+s.times.window > limit {
		return refuse("%s with the warm-up are longer than the %s that this receiver gives one sender (its --max-time)",
			s.times.warmUp+s.times.window, limit)
	}
	return nil
}

// otherRelease is why a sender may ask for options that are refused here, as it has looked at them itself: its release knows others.
func (s *session) otherRelease() string {
	if mine := s.server.Release; s.theirs != mine {
		return fmt.Sprintf(" (this receiver is of release %q, the sender of %q, and their options differ: use the same release at both ends)", mine, s.theirs)
	}
	return ""
}

// prepare makes the worker, at the address that the sender has reached.
func (s *session) prepare(ctx context.Context) (traffic.Worker, error) {
	host, err := hostOf(s.wire.conn.LocalAddr())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, workerPatience)
	defer cancel()
	order := traffic.Order{Role: traffic.Receive, Kind: s.kind.Name(), Load: s.load, CPUs: s.server.config.CPUs}
	return s.server.doors.receive(ctx, s.kind, order, host)
}

// hostOf is an address's IP, as a worker binds to it: IPv4 in IPv6's clothes, as
// a socket for both has it, is IPv4.
func hostOf(address net.Addr) (string, error) {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return "", fmt.Errorf("the control connection has the address %s: %w", address, err)
	}
	return at.Addr().Unmap().String(), nil
}

// part lets the sender read the last line: closing at once could take it away
// (RFC 1122, section 4.2.2.13: data unread at a close resets the connection).
func (s *session) part() {
	if tcp, ok := s.wire.conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	s.wire.linger(leavePatience)
	_, _ = io.CopyN(io.Discard, s.wire.conn, longestAsk)
}
