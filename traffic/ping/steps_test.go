package ping

import (
	"testing"
	"time"

	"windtunnel/result"
)

// TestAnIntervalThatGrewIsAsLong: a thread whose steps wait for another's has no recorder for the next ones after a few, and its interval
// holds several. All that came in those was told of one interval, whose rate was that many times too high, and of none of the others.
func TestAnIntervalThatGrewIsAsLong(t *testing.T) {
	const each, intervals = 10, 12
	ms := time.Millisecond.Nanoseconds()
	p := plan{start: 0, from: 0, to: intervals * ms, stop: intervals * ms, interval: ms}
	c := newCollector(2, p, 1, func(result.Interval) {})
	fast := newSteps(0, p, c.steps, c.spares)
	for at := int64(0); at < p.to; at += ms / each {
		fast.take(&ended{intended: at, sent: at, done: at, state: answered}, false)
	}
	slow := newSteps(1, p, c.steps, c.spares)
	fast.finish(p.to)
	slow.finish(p.to)
	all := c.finish()
	at, packets := 0.0, uint64(0)
	for _, i := range all {
		if i.From != at || i.To <= i.From {
			t.Errorf("from %g to %g s, after %g", i.From, i.To, at)
		}
		at = i.To
		packets += i.Packets
		if want := uint64((i.To-i.From)*1000*each + 0.5); i.Packets != want || i.InTime() != want {
			t.Errorf("%d answers from %g to %g s, where %d came", i.Packets, i.From, i.To, want)
		}
	}
	if at != float64(intervals)/1000 || packets != intervals*each || len(all) == intervals {
		t.Errorf("%d answers in %d intervals up to %g s: %+v", packets, len(all), at, all)
	}
}

// TestASpareIsKept: a recorder that a step takes while nobody has room for the one before is there for the next time.
func TestASpareIsKept(t *testing.T) {
	spares, out := make(chan *result.Recorder, 1), make(chan step, 1)
	spares <- result.NewRecorder()
	s := newSteps(0, plan{start: 0, from: 0, to: 100, stop: 100, interval: 10}, out, spares)
	out <- step{}
	s.reach(15)
	<-out
	if s.reach(25); len(out) != 1 || s.now.index != 2 {
		t.Errorf("nothing was handed over though there was room: %+v", s.now)
	}
	if got := <-out; got.index != 0 || got.upTo != 1 {
		t.Errorf("handed over as %d to %d", got.index, got.upTo)
	}
}
