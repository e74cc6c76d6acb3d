package traffic

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine names what a calibration depends on: the CPU's model, how many there
// are for this program, and the kernel's release.
func Machine() string {
	var name unix.Utsname
	release := "unknown kernel"
	if err := unix.Uname(&name); err == nil {
		release = unix.ByteSliceToString(name.Release[:])
	}
	return fmt.Sprintf("%s x %d, Linux %s", cpuModel(), runtime.NumCPU(), release)
}

// cpuModel is the first CPU's: its name and the numbers of its design on x86, since a hypervisor may call all of a
// maker's by one name; "CPU part" and its like on arm64 (arch/*/kernel/cpuinfo.c, proc.c).
func cpuModel() string {
	const longest = 64 << 10 // of /proc/cpuinfo; the first CPU's lines are enough
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close()
	text := make([]byte, longest)
	n, _ := file.Read(text)
	return modelIn(string(text[:n]))
}

func modelIn(cpuinfo string) string {
	model := []string{runtime.GOARCH}
	for line := range strings.SplitSeq(cpuinfo, "\n") {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name", "cpu family", "model", "CPU implementer", "CPU variant", "CPU part":
			model = append(model, strings.TrimSpace(value))
		case "": // the end of the first CPU's lines
			return strings.Join(model, " ")
		}
	}
	return strings.Join(model, " ")
}
