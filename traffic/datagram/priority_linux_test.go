package datagram

import (
	"runtime"
	"testing"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestWhoseMessagesBringFew: datagrams that come one by one, or by a few that waited for the stack, and no aggregates of
// what was sent as one.
func TestWhoseMessagesBringFew(t *testing.T) {
	for _, c := range []struct {
		came, bytes int
		few         bool
	}{
		{1000, 1000 * 1400, true}, {1000, 4400 * 1400, true}, {1000, 22000 * 1400, false}, {0, 0, false},
	} {
		d := doze{came: c.came, bytes: c.bytes}
		if got := d.few(1400); got != c.few {
			t.Errorf("%d messages of %d bytes in all: %t", c.came, c.bytes, got)
		}
	}
}

// TestPriorityIsGivenBack: a thread's own, and only once it was raised.
func TestPriorityIsGivenBack(t *testing.T) {
	type seen struct{ before, raised, after int }
	done := make(chan seen)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its priority
		var p priority
		nice := func() int {
			n, err := traffic.ThreadNice()
			if err != nil {
				t.Error(err)
			}
			return n
		}
		var s seen
		s.before = nice()
		p.decide(false)
		p.decide(true)
		p.decide(true) // what was given is kept, not what was taken
		s.raised = nice()
		p.decide(false)
		p.decide(false)
		s.after = nice()
		done <- s
	}()
	s := <-done
	if s.after != s.before {
		t.Errorf("%d became %d", s.before, s.after)
	}
	if s.before <= raisedNice {
		t.Skipf("skip: has a nice value of %d already", s.before)
	}
	if s.raised == s.before {
		t.Skip("skip: needs root, or RLIMIT_NICE of 30, to take a higher priority")
	}
	if s.raised != raisedNice {
		t.Errorf("it was raised to %d", s.raised)
	}
}

// TestPriorityIsKept: by the option the engine is told to.
func TestPriorityIsKept(t *testing.T) {
	for word, kept := range map[any]bool{nil: false, priorityAuto: false, priorityKept: true} {
		given := result.Options{}
		if word != nil {
			given["priority"] = word
		}
		l, err := parseLoad(given)
		if err != nil {
			t.Fatal(err)
		}
		if c := l.config(key{}, nil); c.KeepPriority != kept {
			t.Errorf("priority %v: %+v", word, c)
		}
	}
}
