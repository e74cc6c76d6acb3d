package command

import (
	"fmt"
	"strconv"
	"strings"
)

// parseStat reads /proc/stat (proc_stat(5)): the CPUs' ticks, and all interrupts
// and softirqs since boot.
func parseStat(text string) (cpu cpuTime, interrupts, softirqs uint64, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch {
		case fields[0] == "cpu":
			if err := cpu.parse(fields[1:]); err != nil {
				return cpu, 0, 0, err
			}
		case strings.HasPrefix(fields[0], "cpu"):
			cpu.cpus++
		case fields[0] == "intr":
			interrupts, err = strconv.ParseUint(fields[1], 10, 64)
		case fields[0] == "softirq":
			softirqs, err = strconv.ParseUint(fields[1], 10, 64)
		}
		if err != nil {
			return cpu, 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
	}
	if cpu.total == 0 || cpu.cpus == 0 {
		return cpu, 0, 0, fmt.Errorf("/proc/stat: no CPU's time in it")
	}
	return cpu, interrupts, softirqs, nil
}

// parse takes user, nice, system, idle, iowait, irq, softirq and steal; guest
// time is part of user time already.
func (c *cpuTime) parse(fields []string) error {
	const least, counted = 7, 8
	if len(fields) < least {
		return fmt.Errorf("/proc/stat: %d CPU times, not %d", len(fields), least)
	}
	ticks := make([]float64, counted)
	for i := range min(len(fields), counted) {
		n, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return fmt.Errorf("/proc/stat: %w", err)
		}
		ticks[i] = float64(n)
		c.total += ticks[i]
	}
	c.user, c.system, c.idle, c.iowait, c.softirq = ticks[0], ticks[2], ticks[3], ticks[4], ticks[6]
	return nil
}

// megahertz finds the first CPU's speed in /proc/cpuinfo.
func megahertz(text string) (float64, error) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "cpu MHz" {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("/proc/cpuinfo has no line \"cpu MHz\"")
}

// deviceInterrupts sums the counts of all lines of /proc/interrupts that hold a
// device's name, of which there may be none.
func deviceInterrupts(text, device string) (sum uint64, found bool) {
	for line := range strings.Lines(text) {
		_, counts, ok := strings.Cut(line, ":")
		if !ok || !strings.Contains(line, device) {
			continue
		}
		found = true
		for field := range strings.FieldsSeq(counts) {
			n, err := strconv.ParseUint(field, 10, 64)
			if err != nil {
				break // the counts come first, then words
			}
			sum += n
		}
	}
	return sum, found
}
