package ping

import (
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// lateEngine answers requests of a byte, one a millisecond, and takes its snapshots when it has a turn.
type lateEngine struct {
	begun time.Time
	turns []time.Duration // since begun
}

func (e *lateEngine) snapshot() snapshot {
	at := e.turns[0]
	e.turns = e.turns[1:]
	n := uint64(at.Milliseconds())
	return snapshot{at: e.begun.Add(at), seen: seen{requests: n, bytes: n}}
}

func (e *lateEngine) open()                  {}
func (e *lateEngine) ended() <-chan struct{} { return nil }
func (e *lateEngine) failure() error         { return nil }
func (e *lateEngine) halt()                  {}
func (e *lateEngine) threads() int           { return 1 }
func (e *lateEngine) tallies() []*tally      { return nil }
func (e *lateEngine) part([]hello)           {}
func (e *lateEngine) close()                 {}

// TestAWarmUpSeenLateIsNoPartOfTheWindow: no interval of the warm-up begins in the window, however late the receiver has its
// turns, and those of the window are the window.
func TestAWarmUpSeenLateIsNoPartOfTheWindow(t *testing.T) {
	const ms = time.Millisecond
	for name, turns := range map[string][]time.Duration{
		"in time":                        {0, 10 * ms, 20 * ms, 30 * ms, 40 * ms},
		"the first in the window":        {23 * ms, 30 * ms, 40 * ms},
		"the second in the window":       {3 * ms, 27 * ms, 30 * ms, 40 * ms},
		"the first of the window behind": {0, 10 * ms, 20 * ms, 45 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			e := &lateEngine{begun: time.Now().Add(-time.Second), turns: turns}
			when := traffic.Schedule{Start: e.begun, WarmUp: 20 * ms, Window: 20 * ms, Interval: 10 * ms}
			w := &worker{closing: make(chan struct{})}
			from, to := when.Start.Add(when.WarmUp), when.Start.Add(when.WarmUp+when.Window)
			warm, before, err := w.watch(t.Context(), e, when, e.snapshot(), when.Start, from)
			if err != nil {
				t.Fatal(err)
			}
			steps, after, err := w.watch(t.Context(), e, when, before, from, to)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range warm {
				if i.From >= 0 {
					t.Errorf("an interval of the warm-up is %+v", i)
				}
			}
			var sum uint64
			for _, i := range steps {
				sum += i.Bytes
			}
			if sum != after.seen.bytes-before.seen.bytes || before.at.Before(from) || after.at.Before(to) || len(steps) == 0 {
				t.Errorf("the window from %v to %v has %+v", before.at.Sub(e.begun), after.at.Sub(e.begun), steps)
			}
		})
	}
}

// TestOneRequestMayComeBeforeTheWindow of who answers, which begins a little after the asking end's: at a rate of one or two in a window
// nothing is wrong where none comes within it.
func TestOneRequestMayComeBeforeTheWindow(t *testing.T) {
	for rate, fails := range map[float64]bool{1: false, 8: true} {
		receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: result.Options{"rate": rate}, Address: "127.0.0.1"})
		send := prepare(t, traffic.Order{Role: traffic.Send, Load: result.Options{"rate": 1.0}, Address: receive.Address()})
		mine := traffic.Schedule{Start: time.Now().Add(40 * time.Millisecond), Window: 1900 * time.Millisecond} // requests at 0 and 1 s
		later := traffic.Schedule{Start: mine.Start.Add(400 * time.Millisecond), Window: 300 * time.Millisecond}
		var ends sync.WaitGroup
		ends.Go(func() { send.Run(t.Context(), mine) })
		end, err := receive.Run(t.Context(), later)
		ends.Wait()
		if err != nil || end.Packets != 0 || (end.Error != "") != fails {
			t.Errorf("%g/s: %d requests, %v, %q", rate, end.Packets, err, end.Error)
		}
	}
}
