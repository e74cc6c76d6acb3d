package command

import (
	"encoding/json"
	"errors"
	"fmt"

	"windtunnel/traffic/iperf3"
)

// session is the Observer of one client of a server; it shows the test as text
// or as JSON.
type session struct {
	all    *sessions
	number uint64 // the engine's
	test   int    // of those that began, from 1
	client string
	text   *text
	report *report
	marked bool
}

// mark tells several clients' lines apart: of one that is alone they have none,
// as in iperf3; from when it is not, all.
func (s *session) mark() string {
	if s.marked = s.marked || s.all.several(); s.marked {
		return fmt.Sprintf("(test #%d) ", s.test)
	}
	return ""
}

func (s *session) shown() iperf3.Observer {
	if s.report != nil {
		return s.report
	}
	return s.text
}

// Connected begins the session.
func (s *session) Connected(start iperf3.Start) {
	s.all.enter(s)
	s.shown().Connected(start)
}

// Interval shows what happened.
func (s *session) Interval(i iperf3.Interval) { s.shown().Interval(i) }

// Ended ends the session, unless it was cut short: then the reason follows. The client waits for its results meanwhile,
// so that the JSON, which may be more than a pipe holds, is printed beside it.
func (s *session) Ended(e iperf3.End) {
	s.shown().Ended(e)
	switch {
	case e.Partial:
	case s.report == nil:
		s.over("")
	default:
		if left, _ := s.all.leave(s); left {
			s.all.last.later(func() { s.report.finish("") })
		}
	}
}

// Failed ends the session with the reason.
func (s *session) Failed(err error) {
	text := "error - " + says(err)
	stopped := errors.Is(err, iperf3.ErrServerTerminated)
	switch {
	case errors.Is(err, iperf3.ErrClientTerminated):
		text = says(err)
	case errors.Is(err, iperf3.ErrControlClosed): // of which a client has other words
		text = "the client has unexpectedly closed the connection"
	case stopped:
		text = s.all.interrupt()
	}
	switch {
	case s.report == nil && stopped: // the server says so for all of them
	case s.report == nil:
		s.all.screen.complain("%s%s", s.mark(), text)
	case !s.report.begun:
		s.report.finish(text)
	}
	s.over(text)
}

// over prints what comes last.
func (s *session) over(failure string) {
	left, idle := s.all.leave(s)
	if !left {
		return
	}
	if s.report != nil {
		s.report.finish(failure)
		return
	}
	if idle && !s.all.server.OneOff {
		s.all.banner()
	}
}

// Transcript is what the client asked to see.
func (s *session) Transcript() (string, json.RawMessage) {
	return s.shown().(iperf3.Transcriber).Transcript()
}
