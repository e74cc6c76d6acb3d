package measure

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
)

// ReadCPU takes a snapshot of the CPUs alone, for Intervals: a fraction of what Read
// costs. The tick is left out, which is as coarse as an interval is long.
func (n *Node) ReadCPU() (Snapshot, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return Snapshot{}, fmt.Errorf("reading the clock: %w", err)
	}
	return Snapshot{at: time.Duration(now.Nano()), config: n.config, cpu: n.cpu.read()}, nil
}

// Intervals are the CPUs' busy times between readings of one Node, in order, the first
// of which began the window. An interval whose ends no exact clock tells is left out.
func Intervals(readings []Snapshot) []result.CPUInterval {
	var all []result.CPUInterval
	for i := 1; i < len(readings); i++ {
		before, after := readings[i-1], readings[i]
		window := (after.at - before.at).Seconds()
		b, ok := cyclesBetween(before, after, window)
		if !ok {
			b, ok = idleBetween(before, after)
		}
		if !ok || b.window <= 0 {
			continue
		}
		interval := result.CPUInterval{From: (before.at - readings[0].at).Seconds(), To: (after.at - readings[0].at).Seconds()}
		for _, cpu := range after.config.CPUs {
			interval.Busy = append(interval.Busy, b.cpus[cpu]/b.window)
		}
		all = append(all, interval)
	}
	return all
}
