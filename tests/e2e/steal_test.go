//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// attempt is a test of what was measured, which finds no fault with the program on a machine whose CPUs a hypervisor took away:
// trials do not count then, and that they do not is right. What is left behind is judged all the same: strictly.
type attempt struct {
	*testing.T
	thief *thief
	wrong []string
	ended bool // what is said after that is the test's own: by what it left to be done at its end
}

// gaveUp is the panic of an attempt that ends in the middle.
type gaveUp struct{}

func (a *attempt) find(text string) {
	if a.ended {
		a.T.Error(text)
		return
	}
	where := "?"
	if _, file, line, ok := runtime.Caller(2); ok {
		where = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	a.wrong = append(a.wrong, where+": "+strings.TrimSpace(text))
}

func (a *attempt) Error(args ...any)                 { a.find(fmt.Sprintln(args...)) }
func (a *attempt) Errorf(format string, args ...any) { a.find(fmt.Sprintf(format, args...)) }
func (a *attempt) Fail()                             { a.find("failed") }
func (a *attempt) Failed() bool                      { return len(a.wrong) > 0 || a.T.Failed() }

func (a *attempt) Fatal(args ...any) { a.find(fmt.Sprintln(args...)); a.giveUp() }
func (a *attempt) Fatalf(format string, args ...any) {
	a.find(fmt.Sprintf(format, args...))
	a.giveUp()
}
func (a *attempt) FailNow() { a.find("failed"); a.giveUp() }

func (a *attempt) giveUp() {
	if a.ended {
		a.T.FailNow()
	}
	panic(gaveUp{})
}

// Parallel waits for the tests that want the machine for themselves, and for what was stolen from those this one is not to blame.
func (a *attempt) Parallel() {
	a.T.Parallel()
	a.thief.forget()
}

// Run is a part of an attempt, judged by what was stolen while it ran.
func (a *attempt) Run(name string, part func(*attempt)) bool {
	return a.T.Run(name, func(t *testing.T) { measured(t, part) })
}

// strictly is the test behind an attempt: for what has to hold whoever uses the machine.
func strictly(t testing.TB) testing.TB {
	if a, is := t.(*attempt); is {
		return a.T
	}
	return t
}

// measured runs a test of what was measured. If it fails where a hypervisor took the CPUs, it is skipped, with what was wrong.
func measured(t *testing.T, test func(*attempt)) {
	t.Helper()
	a := &attempt{T: t, thief: watchThief(t)}
	defer a.judge() // also of a test that skips what is left of it
	test(a)
}

// judge is deferred: it ends what a fatal finding began.
func (a *attempt) judge() {
	ended := recover()
	a.thief.stop()
	a.ended = true
	if ended != nil && ended != (gaveUp{}) {
		panic(ended)
	}
	if len(a.wrong) == 0 {
		return
	}
	text := strings.Join(a.wrong, "\n")
	if a.thief.took(text) {
		a.T.Skipf("not measured here: a hypervisor took this machine's CPUs (%s); what was found:\n%s", a.thief, text)
	}
	a.T.Error(text)
}

// thief counts the stretches of a test in which more of a CPU was stolen than a trial may miss.
type thief struct {
	mu                sync.Mutex
	stretches, stolen int
	most              float64 // of a CPU, in one stretch
	end, ended        chan struct{}
}

// stretch is long against the tick of 10 ms in which a kernel counts stolen time.
const stretch = 500 * time.Millisecond

func watchThief(t *testing.T) *thief {
	t.Helper()
	before, err := traffic.Steal()
	if err != nil {
		t.Fatal(err)
	}
	w := &thief{end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		pause, began := time.NewTicker(stretch), time.Now()
		defer pause.Stop()
		for {
			select {
			case <-w.end:
				return
			case <-pause.C:
			}
			now, err := traffic.Steal()
			if err != nil {
				continue
			}
			w.note(worstShare(before, now, time.Since(began)))
			before, began = now, time.Now()
		}
	}()
	return w
}

func (w *thief) note(share float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stretches++
	w.most = max(w.most, share)
	if share > result.StealLimit {
		w.stolen++
	}
}

func (w *thief) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stretches, w.stolen, w.most = 0, 0, 0
}

func (w *thief) stop() {
	close(w.end)
	<-w.ended
}

// took says whether what was found wrong can be put down to the hypervisor: the program says so itself, or a tenth of the
// test's time was disturbed.
func (w *thief) took(found string) bool {
	return w.stolen > 0 && (strings.Contains(found, "stolen by the hypervisor") || 10*w.stolen >= w.stretches)
}

func (w *thief) String() string {
	return fmt.Sprintf("over %g %% of one in %d of %d stretches of %s, at most %.0f %%", 100*result.StealLimit, w.stolen, w.stretches, stretch, 100*w.most)
}

// worstShare is the largest share of a CPU that a hypervisor took.
func worstShare(before, after []time.Duration, of time.Duration) (share float64) {
	for i := range min(len(before), len(after)) {
		share = max(share, (after[i]-before[i]).Seconds()/of.Seconds())
	}
	return share
}

// stolenWhile is the largest share of a CPU that a hypervisor took while something was done.
func stolenWhile(t testing.TB, do func()) (share float64) {
	t.Helper()
	before, err := traffic.Steal()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	do()
	after, err := traffic.Steal()
	if err != nil {
		t.Fatal(err)
	}
	return worstShare(before, after, time.Since(began))
}

// TestStolenTimeIsToldApart: only where CPUs were taken is a finding put down to it.
func TestStolenTimeIsToldApart(t *testing.T) {
	const said = "cell a, block 1: does not count: 44 % of CPU 0 of node a was stolen by the hypervisor"
	quiet := []float64{0, 0.02, 0, 0.04, 0, 0, 0, 0, 0, 0, 0, 0}
	once := append(slices.Clone(quiet), 0.44)
	for name, c := range map[string]struct {
		shares []float64
		found  string
		took   bool
	}{
		"nothing stolen":                   {quiet, "exit code 1", false},
		"nothing stolen, whatever it says": {quiet, said, false},
		"once":                             {once, "exit code 1", false},
		"once, as it says":                 {once, said, true},
		"often":                            {append(slices.Clone(once), 0.2), "exit code 1", true},
	} {
		var w thief
		for _, share := range c.shares {
			w.note(share)
		}
		if got := w.took(c.found); got != c.took {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAttemptsKeepWhatTheyFind: a failing part ends at once and tells where, and is the test's failure only where nothing was stolen.
func TestAttemptsKeepWhatTheyFind(t *testing.T) {
	a := &attempt{T: t}
	func() {
		defer func() {
			if recover() != (gaveUp{}) {
				t.Error("a fatal finding goes on")
			}
		}()
		a.Errorf("%d cells", 3)
		a.Fatal("no report")
	}()
	if len(a.wrong) != 2 || !strings.HasPrefix(a.wrong[0], "steal_test.go:") || !strings.HasSuffix(a.wrong[0], ": 3 cells") || !a.Failed() || t.Failed() {
		t.Errorf("%q", a.wrong)
	}
	if strictly(a) != testing.TB(t) || strictly(t) != testing.TB(t) {
		t.Error("what is judged strictly is judged by the attempt")
	}
}
