package measure

import (
	"fmt"

	"windtunnel/result"
)

// The sources of CPU busy time, best first; a sample names its own.
//
// hardware-cycles counts the cycles in which a CPU was not halted. idle-clock is
// the kernel's own clock of idle time, in nanoseconds, which interrupts stop.
// (cpuidle's state times are none: they run on through interrupts and softirqs.)
// tick is /proc/stat, in hundredths of a second. The last two count stolen time
// of a busy CPU as busy, so steal stands beside it.
const (
	SourceCycles    = "hardware-cycles"
	SourceIdleClock = "idle-clock"
	SourceTick      = "tick"
)

type cpuProbe struct {
	cycles *cyclesProbe // nil where the CPUs cannot count them
	idle   *procFile
	hertz  float64 // of reference cycles, as the machine tells it; 0: it does not
}

// cpuReading is what the exact sources said; the tick is in Snapshot.ticks.
type cpuReading struct {
	cycles map[int]cycleCount // nil: none
	hertz  float64            // of reference cycles; 0: not known
	idle   reading[idleReading]
}

func openCPU(cpus []int) cpuProbe {
	p := cpuProbe{idle: openProc("/proc/timer_list"), hertz: readReferenceRate()}
	if cycles, err := openCycles(cpus); err == nil {
		p.cycles = cycles
	}
	return p
}

func (p cpuProbe) read() cpuReading {
	r := cpuReading{idle: read(readIdle(p.idle)), hertz: p.hertz}
	if p.cycles != nil {
		r.cycles, r.hertz = p.cycles.read(), p.cycles.hz
	}
	return r
}

func (p cpuProbe) close() {
	p.idle.close()
	if p.cycles != nil {
		p.cycles.close()
	}
}

// busyTimes is each CPU's busy time from one source, and the window that this
// source saw, both in seconds.
type busyTimes struct {
	source string
	hertz  float64 // of reference cycles; 0: not known
	window float64
	cpus   map[int]float64
}

// busyBetween takes the best source that both readings have for every CPU.
func busyBetween(before, after Snapshot) (busyTimes, error) {
	window := (after.at - before.at).Seconds()
	if b, ok := cyclesBetween(before, after, window); ok {
		return b, nil
	}
	if b, ok := idleBetween(before, after); ok {
		b.hertz = after.cpu.hertz
		return b, nil
	}
	return tickBetween(before, after, window)
}

// tickBetween takes what was not idle: /proc/stat's idle time comes from the idle
// clock where the tick may stop (get_idle_time in fs/proc/stat.c), while the busy
// classes are samples of the tick, which bursts slip through.
func tickBetween(before, after Snapshot, window float64) (busyTimes, error) {
	b := busyTimes{source: SourceTick, window: window, cpus: map[int]float64{}}
	if before.ticks.err != nil || after.ticks.err != nil {
		return b, firstError(before.ticks.err, after.ticks.err)
	}
	for _, cpu := range after.config.CPUs {
		old, ok := before.ticks.value.cpus[cpu]
		now, ok2 := after.ticks.value.cpus[cpu]
		if !ok || !ok2 {
			return b, fmt.Errorf("/proc/stat has no CPU %d", cpu)
		}
		b.cpus[cpu] = clamp(window-split(cpu, old, now).Idle, window)
	}
	return b, nil
}

// cpuSamples joins busy time and the split by class.
func cpuSamples(before, after Snapshot, busy busyTimes) []result.CPUSample {
	var samples []result.CPUSample
	for _, cpu := range after.config.CPUs {
		s := split(cpu, before.ticks.value.cpus[cpu], after.ticks.value.cpus[cpu])
		s.Busy = busy.cpus[cpu]
		samples = append(samples, s)
	}
	return samples
}

func clamp(seconds, window float64) float64 { return min(max(seconds, 0), window) }

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
