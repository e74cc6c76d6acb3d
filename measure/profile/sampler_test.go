package profile

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
)

// TestSampler: what this very thread does is seen, in the kernel and out of it, and is read once.
func TestSampler(t *testing.T) {
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
	const worked = 100 * time.Millisecond
	work(t, worked)
	time.Sleep(20 * time.Millisecond) // the CPU may idle
	window, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	samples, err := s.Take(window)
	if err != nil {
		t.Fatal(err)
	}
	names, err := s.Names(samples.Seen)
	if err != nil {
		t.Fatal(err)
	}
	all, user, kernel := samples.Lost, uint64(0), uint64(0)
	for _, one := range samples.Seen {
		all += one.Count
		if one.Process != os.Getpid() {
			continue
		}
		if slices.ContainsFunc(one.User, func(at uint64) bool { return strings.HasSuffix(userName(at), "profile.work") }) || len(one.User) > 0 && !fixed() {
			user += one.Count
		}
		for i, at := range one.Kernel {
			if strings.Contains(names[called(at, i)], "vfs_read") || strings.Contains(names[called(at, i)], "ksys_read") {
				kernel += one.Count
				break
			}
		}
	}
	if user == 0 || kernel == 0 || float64(all) > window.Seconds()/Period.Seconds()+clocksEach {
		t.Errorf("%d samples in %s, of them %d of this program and %d of its reading", all, window, user, kernel)
	}
	idlesBeside(t, samples, worked)
	ringsAreCut(t, samples, names)
	if again, err := s.Take(window); err != nil || len(again.Seen) != 0 || again.Lost != 0 {
		t.Errorf("they are there again: %+v, %v", again, err)
	}
}

// idlesBeside: the idle task had the CPU when nothing else had it.
func idlesBeside(t *testing.T, samples Samples, worked time.Duration) {
	t.Helper()
	if samples.NoIdle != nil {
		t.Logf("not measured here: %v", samples.NoIdle)
		return
	}
	const apart = time.Millisecond // of the threads' clock and the switches'
	if len(samples.Idle) != 1 || samples.Idle[0] < 0 || samples.Idle[0] > samples.Window-worked+apart {
		t.Errorf("the idle task had the CPU for %s of %s, and this thread for %s", samples.Idle, samples.Window, worked)
	}
}

// ringsAreCut: of the idle task's stacks the clock's own interrupt is gone, and what it interrupted is known.
func ringsAreCut(t *testing.T, samples Samples, names map[uint64]string) {
	t.Helper()
	naming := newNaming(names)
	for _, one := range samples.Seen {
		if !one.Rung {
			continue
		}
		var left []string
		for _, number := range naming.of(one, false) {
			left = append(left, naming.list[number])
		}
		if one.Process != 0 || left[0] == result.UnknownFrame || left[0] == "hrtimer_interrupt" {
			t.Errorf("process %d: %q", one.Process, left)
		}
	}
}

// pinned keeps the thread on a CPU that it may have.
func pinned(t *testing.T) (cpu int) {
	t.Helper()
	var may, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	for !may.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	return cpu
}

// work takes so much of the thread's CPU time, however long others have the CPU: one half in the kernel, and one not.
func work(t *testing.T, most time.Duration) {
	t.Helper()
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zeros.Close()
	buffer, sum, began := make([]byte, 1<<20), byte(0), ran(t)
	for ran(t)-began < most/2 {
		if _, err := unix.Read(int(zeros.Fd()), buffer); err != nil {
			t.Fatal(err)
		}
	}
	for ran(t)-began < most {
		for i := range buffer {
			sum += buffer[i] ^ byte(i)
		}
	}
	runtime.KeepAlive(sum)
}

// ran is how long the thread has run.
func ran(t *testing.T) time.Duration {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}
