package ntttcp

import (
	"testing"
	"time"
)

// TestNoIntervalEndsInACatchUp: what lay in the sockets when a program went on that had been stopped came in the time before. The interval
// behind that had 73 Mbit/s of a path of 48. It is tried again where a busy machine let the while go by.
func TestNoIntervalEndsInACatchUp(t *testing.T) {
	for range 100 {
		began := time.Now()
		w := newWatch(tally{at: began.Add(-3 * time.Second)}, serverTick)
		w.looked = began.Add(-2 * time.Second)
		w.moved = w.looked
		w.wake()
		_, tells := w.look(tally{at: time.Now()})
		shown := 0
		s := stages{test: &Test{Observe: func(uint64, time.Duration) { shown++ }}}
		s.still.Woke(time.Second)
		s.observe()
		if time.Since(began) >= 50*time.Millisecond {
			continue
		}
		if silent := time.Since(w.moved); tells || shown > 0 || silent > 2*serverTick {
			t.Errorf("told %t, %d; silent for %s of the 2 s in which it stood still", tells, shown, silent)
		}
		return
	}
	t.Error("this machine is too busy for it")
}

// TestAnIntervalIsAsLongAsItWas, and begins where the one before ended.
func TestAnIntervalIsAsLongAsItWas(t *testing.T) {
	began := time.Now()
	w := newWatch(tally{at: began}, serverTick)
	for _, c := range []struct {
		after time.Duration
		tells bool
		from  time.Duration
	}{{900 * time.Millisecond, false, 0}, {1040 * time.Millisecond, true, 0}, {2 * time.Second, false, 0}, {2050 * time.Millisecond, true, 1040 * time.Millisecond}} {
		from, tells := w.look(tally{at: began.Add(c.after), bytes: uint64(c.after)})
		if tells != c.tells || tells && from.at.Sub(began) != c.from || !w.moved.Equal(began.Add(c.after)) {
			t.Errorf("after %s: told %t from %s", c.after, tells, from.at.Sub(began))
		}
	}
}
