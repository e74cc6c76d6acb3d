package traffic

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Steal is the time that a hypervisor gave to others while this host's CPUs had work, of each since the host
// started: /proc/stat, whose ticks are 10 ms.
func Steal() ([]time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, fmt.Errorf("reading the CPUs' stolen time: %w", err)
	}
	return parseSteal(text)
}

// parseSteal reads the lines "cpuN user nice system idle iowait irq softirq steal ...", of which the first is all CPUs'.
func parseSteal(text []byte) (stolen []time.Duration, err error) {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 9 || !bytes.HasPrefix(fields[0], []byte("cpu")) || len(fields[0]) == len("cpu") {
			continue
		}
		ticks, err := strconv.ParseInt(string(fields[8]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("reading /proc/stat: %w", err)
		}
		stolen = append(stolen, time.Duration(ticks)*statTick)
	}
	return stolen, nil
}
