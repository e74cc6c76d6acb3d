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

// packetThreads are the kernel threads that do packets' work on a node's CPUs, by
// their ids: ksoftirqd, to which softirqs are left when there are many, and the threads
// of NAPI. What they use, no program on those CPUs can. Some may be of other testbeds.
type packetThreads []int

// threadTimes is the CPU time of threads so far. One that has ended is not in it.
type threadTimes map[int]time.Duration

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

// onlyCPU is where a thread runs that may run on one CPU only.
func onlyCPU(pid int) (cpu int, only bool) {
	var may unix.CPUSet
	if unix.SchedGetaffinity(pid, &may) != nil || may.Count() != 1 {
		return 0, false
	}
	for !may.IsSet(cpu) {
		cpu++
	}
	return cpu, true
}

// receiversByCPU are those of a testbed's receive threads that have a CPU each, by that. A CPU that
// others may run on as well is not told: what they did there is unknown.
func receiversByCPU(receivers []int) map[int]packetThreads {
	by := map[int]packetThreads{}
	for _, pid := range receivers {
		cpu, only := onlyCPU(pid)
		if !only {
			return nil
		}
		by[cpu] = append(by[cpu], pid)
	}
	return by
}

// used is the threads' CPU time so far. A process's CPU clock is made from its id
// (include/linux/posix-timers_types.h: CPUCLOCK_SCHED), and is no clock once it has ended (EINVAL):
// other testbeds' threads come and go.
func (p packetThreads) used() (threadTimes, error) {
	const sched = 2
	times := threadTimes{}
	for _, pid := range p {
		var now unix.Timespec
		switch err := unix.ClockGettime(int32(^pid<<3|sched), &now); {
		case err == nil:
			times[pid] = time.Duration(now.Nano())
		case !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ESRCH):
			return nil, fmt.Errorf("reading the CPU clock of kernel thread %d: %w", pid, err)
		}
	}
	if len(p) > 0 && len(times) == 0 {
		return nil, errors.New("the kernel's packet threads have all ended")
	}
	return times, nil
}

func readPacketThreads(threads reading[packetThreads]) reading[threadTimes] {
	if threads.err != nil {
		return read(threadTimes(nil), threads.err)
	}
	return read(threads.value.used())
}

// between is the CPU time of those threads that are in both readings.
func (t threadTimes) between(after threadTimes) (sum time.Duration) {
	for pid, then := range t {
		if now, there := after[pid]; there && now > then { // less: the id is another thread's by now
			sum += now - then
		}
	}
	return sum
}

// receiveSeconds is what a CPU's receive threads took of it, nil where it is not known.
func (s sampler) receiveSeconds(cpu int) *float64 {
	threads := s.before.receivers[cpu]
	before, after := s.before.receiving, s.after.receiving
	if len(threads) == 0 || before.err != nil || after.err != nil {
		return nil
	}
	of := threadTimes{}
	for _, pid := range threads {
		then, was := before.value[pid]
		if _, is := after.value[pid]; !was || !is {
			return nil // what it did is lost
		}
		of[pid] = then
	}
	seconds := of.between(after.value).Seconds()
	return &seconds
}

// receiveAway is what the receive threads took of CPUs that are not the node's, nil where it is not known.
func (s sampler) receiveAway() *float64 {
	sum := 0.0
	for cpu := range s.before.receivers {
		if slices.Contains(s.before.config.CPUs, cpu) {
			continue
		}
		took := s.receiveSeconds(cpu)
		if took == nil {
			return nil
		}
		sum += *took
	}
	if len(s.before.receivers) == 0 {
		return nil
	}
	return &sum
}
