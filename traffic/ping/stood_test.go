package ping

import (
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// stoppedEngine is read late for the first time, as by a program that was stopped.
type stoppedEngine struct {
	engine
	reading, which int
	late           time.Duration
}

func (e *stoppedEngine) snapshot() snapshot {
	s := e.engine.snapshot()
	if e.reading++; e.reading == e.which {
		s.at = s.at.Add(e.late)
	}
	return s
}

// TestAnEndKnowsThatItStoodStill when the window began, or for all of it. A receiver had "counted nothing" then.
func TestAnEndKnowsThatItStoodStill(t *testing.T) {
	for name, c := range map[string]struct {
		reading int // which is late; a receiver's second is the window's first
		late    time.Duration
		sender  bool
		stood   float64 // s
		says    string
	}{
		"a sender, for a part":     {1, 700 * time.Millisecond, true, 0.7, ""},
		"a sender, for a moment":   {1, 100 * time.Millisecond, true, 0, ""},
		"a receiver, for all":      {2, 1100 * time.Millisecond, false, 0, "stood still until"},
		"a receiver, for a moment": {2, 100 * time.Millisecond, false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send, receive := pair(t, result.Options{"rate": 100.}, "127.0.0.1")
			one := receive
			if c.sender {
				one = send
			}
			one.make = func(s setup) (engine, error) {
				e, err := newEngine(s)
				return &stoppedEngine{engine: e, which: c.reading, late: c.late}, err
			}
			s, r := runBoth(t.Context(), send, receive, soon(time.Second))
			got := r
			if c.sender {
				got = s
			}
			says := got.end.Error
			if got.err != nil {
				says = got.err.Error()
			}
			if !strings.Contains(says, c.says) || c.says == "" && says != "" || got.end.StoodSeconds < c.stood || got.end.StoodSeconds > c.stood+0.15 {
				t.Errorf("%q, stood still for %g s; want %q, %g s", says, got.end.StoodSeconds, c.says, c.stood)
			}
		})
	}
}
