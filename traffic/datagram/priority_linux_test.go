package datagram

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

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
		p.decide(false, false)
		p.decide(true, false)
		p.decide(true, false) // what was given is kept, not what was taken
		s.raised = nice()
		p.decide(false, false)
		p.decide(false, false)
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

// configBy is the engine's by the word of one option; nil: its default.
func configBy(t *testing.T, option string, word any) Config {
	t.Helper()
	given := result.Options{}
	if word != nil {
		given[option] = word
	}
	l, err := parseLoad(given)
	if err != nil {
		t.Fatal(err)
	}
	return l.config(key{}, nil)
}

// TestPriorityIsKept: by the option the engine is told to.
func TestPriorityIsKept(t *testing.T) {
	for word, kept := range map[any]bool{nil: false, priorityAuto: false, priorityKept: true} {
		if c := configBy(t, "priority", word); c.KeepPriority != kept {
			t.Errorf("priority %v: %+v", word, c)
		}
	}
}

// TestRealTimeIsGivenBack: with the nice value that the thread had.
func TestRealTimeIsGivenBack(t *testing.T) {
	type seen struct {
		policy uint32
		nice   int
	}
	done := make(chan [4]seen)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its priority
		look := func() seen {
			attr, err := unix.SchedGetAttr(0, 0)
			if err != nil {
				t.Error(err)
				return seen{}
			}
			nice, err := traffic.ThreadNice()
			if err != nil {
				t.Error(err)
			}
			return seen{attr.Policy, nice}
		}
		var p priority
		var s [4]seen
		s[0] = look()
		p.decide(true, true)
		s[1] = look()
		p.decide(true, false)
		s[2] = look()
		p.decide(true, true)
		p.decide(false, true) // it has to be raised for it
		s[3] = look()
		done <- s
	}()
	s := <-done
	if s[3] != s[0] {
		t.Errorf("%+v became %+v", s[0], s[3])
	}
	if s[1].policy != unix.SCHED_FIFO {
		t.Skip("skip: needs root, or RLIMIT_RTPRIO, to go to real time")
	}
	if want := (seen{unix.SCHED_NORMAL, min(s[0].nice, raisedNice)}); s[2] != want {
		t.Errorf("out of real time, and still raised: %+v, want %+v", s[2], want)
	}
}

// TestPollIsToldToTheEngine, where it can.
func TestPollIsToldToTheEngine(t *testing.T) {
	for word, want := range map[any][2]string{nil: {"", pollAuto}, pollBlock: {pollBlock, pollBlock}, pollBusy: {pollBusy, pollBusy}, pollAuto: {pollAuto, pollAuto}} {
		given := result.Options{}
		if word != nil {
			given["poll"] = word
		}
		l, err := parseLoad(given)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{l.polling(false), l.polling(true)}; got != want {
			t.Errorf("poll %v: %q in a suite and in one-off use", word, got)
		}
	}
}
