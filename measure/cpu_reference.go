package measure

import (
	"os"
	"strconv"
	"strings"
)

// referenceRate is the rate of the time stamp counter by a CPU's paragraph of /proc/cpuinfo, 0 where
// that does not tell it. BogoMIPS is twice the loops of a delay in a microsecond, which the kernel
// takes from the counter's rate where it has measured that (lpj_fine in arch/x86/kernel/tsc.c,
// loops_per_jiffy in init/calibrate.c), and prints in hundredths; elsewhere it is of another clock.
func referenceRate(cpuinfo string) (hertz float64) {
	paragraph, _, _ := strings.Cut(cpuinfo, "\n\n")
	constant, bogomips := false, 0.0
	for line := range strings.Lines(paragraph) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "flags":
			constant = strings.Contains(" "+value+" ", " constant_tsc ")
		case "bogomips":
			bogomips, _ = strconv.ParseFloat(value, 64) // what cannot be read tells nothing
		}
	}
	if !constant || bogomips <= 0 {
		return 0
	}
	return bogomips / 2 * 1e6
}

// readReferenceRate asks the running machine.
func readReferenceRate() float64 {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return 0
	}
	return referenceRate(string(text))
}
