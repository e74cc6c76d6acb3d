package measure

import (
	"bytes"
	"errors"
)

func readMemory(f *procFile) (uint64, error) {
	text, err := f.read()
	if err != nil {
		return 0, err
	}
	return parseMemory(text)
}

// parseMemory returns the host's memory in use, in bytes: what is neither free
// nor could be had without swapping (MemAvailable, proc_meminfo(5)).
func parseMemory(text []byte) (uint64, error) {
	var total, available uint64
	for line := range lines(text) {
		name, value, _ := bytes.Cut(line, []byte{':'})
		fields := bytes.Fields(value)
		if len(fields) == 0 {
			continue
		}
		switch string(name) {
		case "MemTotal":
			total, _ = number(fields[0])
		case "MemAvailable":
			available, _ = number(fields[0])
		}
	}
	if total == 0 || available == 0 || available > total {
		return 0, errors.New("/proc/meminfo has no MemTotal and MemAvailable")
	}
	return (total - available) << 10, nil
}
