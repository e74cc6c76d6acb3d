package traffic

import (
	"strconv"
	"strings"
)

// NetTable reads the files of /proc/net that give names and values in two lines,
// both behind the same word: "Tcp: OutSegs ..." and "Tcp: 12 ..." are "Tcp.OutSegs".
// What is no count is left out.
func NetTable(text string) map[string]uint64 {
	values := map[string]uint64{}
	names := map[string][]string{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		group := fields[0]
		if names[group] == nil {
			names[group] = fields[1:]
			continue
		}
		for i, field := range fields[1:] {
			n, err := strconv.ParseUint(field, 10, 64)
			if i < len(names[group]) && err == nil {
				values[strings.TrimSuffix(group, ":")+"."+names[group][i]] = n
			}
		}
	}
	return values
}

// NetColumns reads /proc/net/snmp6: a name and a value in each line.
func NetColumns(text string) map[string]uint64 {
	values := map[string]uint64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 2 {
			if n, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				values[fields[0]] = n
			}
		}
	}
	return values
}
