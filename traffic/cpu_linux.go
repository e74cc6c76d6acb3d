package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// CurrentThreadCPU is the CPU time of the calling OS thread.
func CurrentThreadCPU() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		return 0, fmt.Errorf("reading the thread's CPU clock: %w", err)
	}
	return time.Duration(now.Nano()), nil
}

// ThreadWait is how long a thread of this process could run and had no CPU: the
// second number of its schedstat (Documentation/scheduler/sched-stats.rst).
func ThreadWait(tid int) (time.Duration, error) {
	text, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/schedstat")
	if err != nil {
		return 0, fmt.Errorf("reading a thread's run delay: %w", err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("the schedstat of thread %d holds %q", tid, text)
	}
	ns, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading a thread's run delay: %w", err)
	}
	return time.Duration(ns), nil
}

// ProcessCPU is the CPU time of this process, all its threads (getrusage).
func ProcessCPU() (user, system time.Duration) { return usage() }

// statTick is the unit of /proc/stat: USER_HZ is 100 on every architecture of
// Linux that Go runs on.
const statTick = time.Second / 100

// HostCPU is the time that all CPUs of this host were busy, and their whole time,
// since the host started: /proc/stat, whose ticks are 10 ms. Time that a
// hypervisor gave to others (steal) is neither.
func HostCPU() (busy, total time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("reading the host's CPU time: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return parseStat(line)
}

// parseStat reads "cpu user nice system idle iowait irq softirq steal ...".
func parseStat(line []byte) (busy, total time.Duration, err error) {
	fields := bytes.Fields(line)
	if len(fields) < 8 || string(fields[0]) != "cpu" {
		return 0, 0, errors.New("the first line of /proc/stat is not the sum of all CPUs")
	}
	for i, field := range fields[1:8] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("reading /proc/stat: %w", err)
		}
		spent := time.Duration(n) * statTick
		total += spent
		if i != 3 && i != 4 { // idle and iowait
			busy += spent
		}
	}
	return busy, total, nil
}
