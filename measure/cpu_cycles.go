package measure

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cyclesProbe counts reference cycles, which pass at the rate of the time stamp
// counter while a CPU is not halted (Intel SDM vol. 3, CPU_CLK_UNHALTED.REF_TSC).
// Core cycles would do only with a fixed frequency, so they are not used.
type cyclesProbe struct {
	fds map[int]int
	hz  float64
}

// cycleCount is the reading on one CPU: for how long it was not halted.
type cycleCount struct {
	busy             float64 // seconds
	enabled, running uint64
}

func openCycles(cpus []int) (*cyclesProbe, error) {
	fds, err := openPerfs(unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_REF_CPU_CYCLES, cpus)
	if err != nil {
		return nil, err
	}
	p := &cyclesProbe{fds: fds}
	if p.hz, err = tscRate(fds[cpus[0]]); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// tscRate reads the rate of the time stamp counter from a perf event's page:
// ns = cycles * time_mult >> time_shift (cap_user_time in
// include/uapi/linux/perf_event.h).
func tscRate(fd int) (hz float64, err error) {
	b, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, fmt.Errorf("mapping a perf event: %w", err)
	}
	defer unix.Munmap(b)
	const capUserTime = 1 << 3
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&b[0]))
	if page.Capabilities&capUserTime == 0 || page.Time_mult == 0 {
		return 0, errors.New("the kernel does not tell the rate of the time stamp counter")
	}
	return 1e9 * float64(uint64(1)<<page.Time_shift) / float64(page.Time_mult), nil
}

// read returns nil when any CPU could not be read.
func (p *cyclesProbe) read() map[int]cycleCount {
	counts := map[int]cycleCount{}
	for cpu, fd := range p.fds {
		c, err := readPerf(fd)
		if err != nil {
			return nil
		}
		counts[cpu] = cycleCount{float64(c.count) / p.hz, c.enabled, c.running}
	}
	return counts
}

func (p *cyclesProbe) close() { closePerfs(p.fds) }

// cyclesBetween is the unhalted time of each CPU. An event that shared its
// counter with others (running less than enabled) is an estimate and is not used.
func cyclesBetween(before, after Snapshot, window float64) (busyTimes, bool) {
	b := busyTimes{SourceCycles, after.cpu.hertz, window, map[int]float64{}}
	if before.cpu.cycles == nil || after.cpu.cycles == nil {
		return b, false
	}
	for _, cpu := range after.config.CPUs {
		was, is := before.cpu.cycles[cpu], after.cpu.cycles[cpu]
		enabled, running := is.enabled-was.enabled, is.running-was.running
		if enabled == 0 || running != enabled || is.busy < was.busy {
			return b, false
		}
		b.cpus[cpu] = clamp(is.busy-was.busy, window)
	}
	return b, true
}
