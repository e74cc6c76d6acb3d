package measure

import (
	"bytes"
	"errors"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// longestTick is the period of the slowest tick, HZ=100.
const longestTick = 10 * time.Millisecond

// quickRead is how long the file may take to be read before the reading counts as
// disturbed (its reader lost the CPU inside of it), and idleTries how many there are.
const (
	quickRead = 300 * time.Microsecond
	idleTries = 3
)

// idleReading is how long each CPU has been idle since boot, at an instant of
// CLOCK_MONOTONIC.
type idleReading struct {
	at   time.Duration
	cpus map[int]time.Duration
}

// idleRow is one CPU's part of /proc/timer_list: struct tick_sched in
// kernel/time/tick-sched.h.
type idleRow struct {
	entry   time.Duration // when it last went idle, or last ceased to be
	sleep   time.Duration // idle until then, no task waiting for a disk
	iowait  time.Duration // idle until then, some task waiting
	stopped bool          // idle, and without a tick
}

// idle is how long the CPU has been idle at the instant now; here says that the
// reader runs on it, so it is not idle.
//
// The file does not say whether the CPU is idle (TS_FLAG_IDLE_ACTIVE); entry is
// renewed by tick_nohz_start_idle and tick_nohz_stop_idle alike. A stopped tick
// tells: only an idle CPU stops it. With a running tick an idle CPU renews entry
// at each, so an old entry tells that the CPU is busy; a young one leaves less
// than a tick in doubt.
func (r idleRow) idle(now time.Duration, here bool) time.Duration {
	total, since := r.sleep+r.iowait, now-r.entry
	if here || since <= 0 {
		return total
	}
	if r.stopped || since < longestTick {
		return total + since
	}
	return total
}

// readIdle takes the quickest of a few readings.
func readIdle(f *procFile) (best idleReading, err error) {
	least := time.Duration(-1)
	for range idleTries {
		began := time.Now()
		cpu := currentCPU()
		text, err := f.read()
		if err != nil {
			return idleReading{}, err
		}
		took := time.Since(began)
		if least >= 0 && took >= least {
			continue
		}
		if cpu != currentCPU() {
			cpu = -1
		}
		if best, err = parseIdle(text, cpu); err != nil {
			return idleReading{}, err
		}
		if least = took; took < quickRead {
			break
		}
	}
	return best, nil
}

// currentCPU is where the caller runs, -1 where the kernel does not say.
func currentCPU() int {
	var cpu uint32
	if _, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); e != 0 {
		return -1
	}
	return int(cpu)
}

// parseIdle reads /proc/timer_list (kernel/time/timer_list.c); here is the
// reader's CPU.
func parseIdle(text []byte, here int) (idleReading, error) {
	r := idleReading{cpus: map[int]time.Duration{}}
	cpu, row, nohz := -1, idleRow{}, false
	flush := func() {
		if cpu >= 0 && nohz {
			r.cpus[cpu] = row.idle(r.at, cpu == here)
		}
		row, nohz = idleRow{}, false
	}
	for line := range lines(text) {
		if n, ok := numberAfter(line, "cpu: "); ok {
			flush()
			cpu = int(n)
		} else if n, ok := numberAfter(line, "now at "); ok {
			r.at = time.Duration(n)
		} else if bytes.HasPrefix(line, []byte("  .")) {
			nohz = row.take(line) || nohz
		}
	}
	flush()
	if r.at == 0 || len(r.cpus) == 0 {
		return r, errors.New("/proc/timer_list shows no idle clock: this kernel's tick does not stop")
	}
	return r, nil
}

// take reads one line of a CPU; it reports whether the line says that the
// kernel keeps an idle clock: .nohz, or .nohz_mode in older kernels.
func (r *idleRow) take(line []byte) (nohz bool) {
	name, value, _ := bytes.Cut(line[len("  ."):], []byte{':'})
	n, ok := numberAfter(bytes.TrimLeft(value, " "), "")
	if !ok {
		return false
	}
	switch string(bytes.TrimRight(name, " ")) {
	case "idle_entrytime":
		r.entry = time.Duration(n)
	case "idle_sleeptime":
		r.sleep = time.Duration(n)
	case "iowait_sleeptime":
		r.iowait = time.Duration(n)
	case "tick_stopped":
		r.stopped = n == 1
	case "nohz", "nohz_mode":
		return n > 0
	}
	return false
}

// numberAfter returns the number that follows a prefix.
func numberAfter(line []byte, prefix string) (int64, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(prefix))
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte{' '})
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return n, err == nil && n >= 0
}

// idleBetween is the time in which each CPU was not idle.
func idleBetween(before, after Snapshot) (busyTimes, bool) {
	old, now := before.cpu.idle, after.cpu.idle
	if old.err != nil || now.err != nil {
		return busyTimes{}, false
	}
	window := (now.value.at - old.value.at).Seconds()
	b := busyTimes{source: SourceIdleClock, window: window, cpus: map[int]float64{}}
	for _, cpu := range after.config.CPUs {
		was, ok := old.value.cpus[cpu]
		is, ok2 := now.value.cpus[cpu]
		if !ok || !ok2 {
			return busyTimes{}, false
		}
		b.cpus[cpu] = clamp(window-(is-was).Seconds(), window)
	}
	return b, window > 0
}
