package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// packetThreads are the kernel threads that do packets' work on a node's CPUs:
// ksoftirqd, to which softirqs are left when there are many, and the threads of
// NAPI. What they use, no program on those CPUs can.
type packetThreads []int

// mostProcesses bounds the search; a machine with more has other worries.
const mostProcesses = 100_000

// findPacketThreads looks through /proc once.
func findPacketThreads(cpus []int) reading[packetThreads] {
	files, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil || len(files) > mostProcesses {
		return read(packetThreads(nil), fmt.Errorf("looking for the kernel's packet threads: %d processes, %w", len(files), err))
	}
	var found packetThreads
	for _, file := range files {
		name, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && isPacketThread(strings.TrimSpace(string(name)), pid, cpus) {
			found = append(found, pid)
		}
	}
	if len(found) == 0 {
		return read(found, errors.New("the kernel's packet threads are not to be seen: is this another PID namespace?"))
	}
	return read(found, nil)
}

// isPacketThread goes by the name (kernel/softirq.c, napi_kthread_create in
// net/core/dev.c) and, for NAPI, by where the thread may run.
func isPacketThread(name string, pid int, cpus []int) bool {
	if number, ok := strings.CutPrefix(name, "ksoftirqd/"); ok {
		cpu, err := strconv.Atoi(number)
		return err == nil && slices.Contains(cpus, cpu)
	}
	if !strings.HasPrefix(name, "napi/") {
		return false
	}
	var may unix.CPUSet
	if unix.SchedGetaffinity(pid, &may) != nil {
		return false
	}
	ours := 0
	for _, cpu := range cpus {
		if may.IsSet(cpu) {
			ours++
		}
	}
	return ours > 0 && ours == may.Count()
}

// used is the threads' CPU time so far. A process's CPU clock is made from its id
// (include/linux/posix-timers_types.h: CPUCLOCK_SCHED).
func (p packetThreads) used() (sum time.Duration, err error) {
	const sched = 2
	for _, pid := range p {
		var now unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|sched), &now); err != nil {
			return 0, fmt.Errorf("reading the CPU clock of kernel thread %d: %w", pid, err)
		}
		sum += time.Duration(now.Nano())
	}
	return sum, nil
}

func readPacketThreads(threads reading[packetThreads]) reading[time.Duration] {
	if threads.err != nil {
		return read(time.Duration(0), threads.err)
	}
	return read(threads.value.used())
}
