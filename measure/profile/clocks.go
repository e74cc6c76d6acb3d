package profile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Period is a CPU's time from one sample to the next, on the mean. A sample costs some 20 us where timers are a
// hypervisor's (most of that is the timer itself): twice as many took 1.2 % of the traffic, of 2 % that all of it may take.
const Period = 5_006_017 * time.Nanosecond

// clocksEach is how many clocks a CPU has, STACKS_CLOCKS of stacks.bpf.c.
//
// One alone asks in step with what it measures: a sender that is paced, or waits for a CPU that is stopped by the same clock a moment before,
// does the same thing whenever it is asked, and samples are off by any part of it, in a whole window alike. A clock whose
// intervals vary at random is not (McCanne and Torek, "A randomized sampling clock for CPU utilization estimation and code
// profiling", USENIX Winter 1993). Perf events have no such one. Some of them together, whose periods have no ratio in common, do as
// well, with as many interrupts: of four the times between samples are anything from 0 to four periods.
const clocksEach = 4

// periods are those of a CPU's clocks: together they ring once a Period. Those of two CPUs differ by some percent, or one CPU's clocks
// would ring when another's work waits for it.
func periods() (each [clocksEach]time.Duration) {
	rates, all := [clocksEach]float64{0.76, 0.92, 1.08, 1.24}, 0.0 // as far from each other, and from thirds and halves, as four can be
	for i := range rates {
		rates[i] *= 0.98 + 0.04*rand.Float64()
		all += rates[i]
	}
	for i := range each {
		each[i] = time.Duration(float64(Period) * all / rates[i])
	}
	return each
}

// openClocks sets up the clocks of the CPUs, and says their periods to the programs that they run.
func (s *Sampler) openClocks() error {
	var known []stacksStacksCpu
	if err := s.objects.StacksCpus.Lookup(uint32(0), &known); err != nil {
		return fmt.Errorf("sampling stacks: reading the CPUs' states: %w", err)
	}
	for _, cpu := range s.cpus {
		if cpu >= len(known) {
			return fmt.Errorf("sampling stacks: there is no CPU %d", cpu)
		}
		leader := -1
		for i, period := range periods() {
			known[cpu].Clocks[i].Period = uint64(period)
			clock, err := openClock(cpu, period, leader, s.program(i))
			if err != nil {
				return err
			}
			s.clocks = append(s.clocks, clock)
			if leader < 0 {
				leader = clock
				s.leaders = append(s.leaders, leader)
			}
		}
	}
	if err := s.objects.StacksCpus.Put(uint32(0), known); err != nil {
		return fmt.Errorf("sampling stacks: writing the clocks' periods: %w", err)
	}
	return nil
}

// program is that of each CPU's i-th clock.
func (s *Sampler) program(i int) *ebpf.Program {
	return [clocksEach]*ebpf.Program{s.objects.StacksRang0, s.objects.StacksRang1, s.objects.StacksRang2, s.objects.StacksRang3}[i]
}

// openClock sets up a clock of a CPU, which has the program run whenever it rings. One with a leader (-1: none) runs while
// that does.
func openClock(cpu int, period time.Duration, leader int, program *ebpf.Program) (int, error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(period),
	}
	if leader < 0 {
		attr.Bits = unix.PerfBitDisabled
	}
	clock, err := unix.PerfEventOpen(&attr, -1, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("sampling stacks: a perf event on CPU %d (kernel.perf_event_paranoid, CONFIG_PERF_EVENTS): %w", cpu, err)
	}
	if err := unix.IoctlSetInt(clock, unix.PERF_EVENT_IOC_SET_BPF, program.FD()); err != nil {
		unix.Close(clock)
		return -1, fmt.Errorf("sampling stacks: a BPF program for a perf event (CONFIG_BPF_EVENTS): %w", err)
	}
	return clock, nil
}

// all gives an order to each CPU's clocks. Those that rest go on later from where they were (perf_swevent_cancel_hrtimer in
// kernel/events/core.c), so that a window's first samples are no later in it than any.
func (s *Sampler) all(order uint) error {
	var failed error
	for i, leader := range s.leaders {
		if err := unix.IoctlSetInt(leader, order, 0); err != nil {
			failed = errors.Join(failed, fmt.Errorf("sampling stacks: the clocks of CPU %d: %w", s.cpus[i], err))
		}
	}
	return failed
}
