package measure

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"windtunnel/result"
)

// softnetRow is one CPU's receive queue. The counters have 32 bits and wrap
// (struct softnet_data in include/linux/netdevice.h).
type softnetRow struct{ processed, dropped, squeezed uint32 }

// The columns of /proc/net/softnet_stat, in hexadecimal (softnet_seq_show in
// net/core/net-procfs.c). Before Linux 5.10 there is no CPU, and the lines are
// those of the online CPUs in turn.
const (
	colProcessed = 0
	colDropped   = 1
	colSqueezed  = 2
	colCPU       = 12
)

func readSoftnet(f *procFile) (map[int]softnetRow, error) {
	text, err := f.read()
	if err != nil {
		return nil, err
	}
	return parseSoftnet(text)
}

func parseSoftnet(text []byte) (map[int]softnetRow, error) {
	rows := map[int]softnetRow{}
	for line := range lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 3 {
			return nil, errors.New("/proc/net/softnet_stat has a line with fewer than 3 columns")
		}
		var v [colCPU + 1]uint32
		v[colCPU] = uint32(len(rows))
		for i := range min(len(fields), len(v)) {
			n, err := strconv.ParseUint(string(fields[i]), 16, 32)
			if err != nil {
				return nil, fmt.Errorf("/proc/net/softnet_stat: %q is no counter", clip(fields[i]))
			}
			v[i] = uint32(n)
		}
		rows[int(v[colCPU])] = softnetRow{v[colProcessed], v[colDropped], v[colSqueezed]}
	}
	return rows, nil
}

// softnetBetween sums over the node's CPUs.
func softnetBetween(before, after reading[map[int]softnetRow], cpus []int) (result.Softnet, error) {
	var s result.Softnet
	if err := firstError(before.err, after.err); err != nil {
		return s, err
	}
	for _, cpu := range cpus {
		was, ok := before.value[cpu]
		is, ok2 := after.value[cpu]
		if !ok || !ok2 {
			return result.Softnet{}, fmt.Errorf("/proc/net/softnet_stat has no CPU %d", cpu)
		}
		s.Processed += uint64(is.processed - was.processed)
		s.Dropped += uint64(is.dropped - was.dropped)
		s.Squeezed += uint64(is.squeezed - was.squeezed)
	}
	return s, nil
}

// processedOn is how many packets one CPU received, nil if it is not known.
func processedOn(before, after reading[map[int]softnetRow], cpu int) *uint64 {
	was, ok := before.value[cpu]
	is, ok2 := after.value[cpu]
	if before.err != nil || after.err != nil || !ok || !ok2 {
		return nil
	}
	n := uint64(is.processed - was.processed)
	return &n
}
