package profile

import (
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestClocksRingOnceAPeriod together, whatever the periods are that chance gives each, and none in step with another.
func TestClocksRingOnceAPeriod(t *testing.T) {
	for range 1000 {
		rate, all := 0.0, periods()
		for i, period := range all {
			rate += 1 / period.Seconds()
			for _, other := range all[:i] {
				if apart := math.Abs(float64(period-other)) / float64(period); apart < 0.05 {
					t.Fatalf("%s: two of them are %.3f apart", all, apart)
				}
			}
		}
		if got := 1 / rate; math.Abs(got/Period.Seconds()-1) > 1e-6 {
			t.Fatalf("%s: a sample every %g s", all, got)
		}
	}
}

// TestProgramsInStep: of a program that works at the same moment of each of a clock's periods samples find what it worked, by its own
// CPU time. One clock of that period finds it always or never.
func TestProgramsInStep(t *testing.T) {
	runtime.LockOSThread() // and never unlocked: its CPU is changed
	cpu := pinned(t)
	s, err := Open([]int{cpu})
	if err != nil {
		t.Skipf("stacks cannot be sampled here: %v", err)
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	worked := workInStep(t, 320)
	window, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	samples, err := s.Take(window)
	if err != nil {
		t.Fatal(err)
	}
	found, want := 0.0, worked.Seconds()/Period.Seconds()
	for _, one := range samples.Seen {
		if one.Process == os.Getpid() {
			found += float64(one.Count)
		}
	}
	if most := 5 * math.Sqrt(want); math.Abs(found-want) > most { // five standard deviations of samples by chance
		t.Errorf("%.0f samples of %.0f, at most %.0f more or less: it worked for %s of %s", found, want, most, worked, window)
	}
}

// monotonic is the clock by which a thread sleeps, in whatever time namespace this is.
func monotonic() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // which every kernel has
	return time.Duration(now.Nano())
}

// workInStep works for three tenths of so many periods, at their beginnings, and says for how long it had the CPU. It never
// works for a period that it did not see begin.
func workInStep(t *testing.T, cycles int64) time.Duration {
	t.Helper()
	const each = 3 * Period / 10
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	origin, before := monotonic(), ran(t)
	for last := int64(0); last < cycles; {
		last = max(last, int64((monotonic()-origin)/Period)) + 1
		until := unix.NsecToTimespec(int64(origin) + last*int64(Period))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) == unix.EINTR {
			continue
		}
		for began := ran(t); ran(t)-began < each; {
			continue
		}
	}
	return ran(t) - before
}
