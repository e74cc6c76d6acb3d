package ethtool

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Sets of strings: enum ethtool_stringset in linux/ethtool.h.
const (
	setStats    = 1
	setFeatures = 4
)

// lengthOfName is ETH_GSTRING_LEN.
const lengthOfName = 32

// names reads a set of strings, which say what the values of another command are, in their order.
func (s *Socket) names(device string, set uint32) ([]string, error) {
	// struct ethtool_sset_info: command, reserved, a mask of 64 bits, the number of strings of each set in the mask
	info := command(20, unix.ETHTOOL_GSSET_INFO)
	binary.NativeEndian.PutUint64(info[8:], 1<<set)
	if err := s.ask(device, info); err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint64(info[8:]) == 0 {
		return nil, nil // the driver has no such set
	}
	n, err := bounded(get(info, 4))
	if err != nil {
		return nil, err
	}
	// struct ethtool_gstrings: command, set, number, the strings
	strings := command(12+(n+spare)*lengthOfName, unix.ETHTOOL_GSTRINGS, set, uint32(n))
	if err := s.ask(device, strings); err != nil {
		return nil, err
	}
	all := make([]string, min(n, int(get(strings, 2))))
	for i := range all {
		all[i] = unix.ByteSliceToString(strings[12+i*lengthOfName:][:lengthOfName])
	}
	return all, nil
}

// Drivers write as many values as they have by then, whatever room they were told of: a device that gets queues
// between two calls gets more (ethtool_get_strings and ethtool_get_stats in net/ethtool/ioctl.c). spare is the room for that.
const spare = 4096

// most bounds what a driver may claim to have.
const most = 1 << 16

func bounded(n uint32) (int, error) {
	if n > most {
		return 0, fmt.Errorf("its driver claims %d values; no more than %d are read", n, most)
	}
	return int(n), nil
}

// Stats reads what a driver counts, by its own names.
func (s *Socket) Stats(device string) (map[string]uint64, error) {
	names, err := s.names(device, setStats)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	// struct ethtool_stats: command, number, the values of 64 bits
	stats := command(8+8*(len(names)+spare), unix.ETHTOOL_GSTATS, uint32(len(names)))
	if err := s.ask(device, stats); err != nil {
		return nil, err
	}
	if n := get(stats, 1); int(n) != len(names) {
		return nil, fmt.Errorf("its driver named %d counters and then had %d: another program changed its queues", len(names), n)
	}
	counted := make(map[string]uint64, len(names))
	for i, name := range names {
		counted[name] = binary.NativeEndian.Uint64(stats[8+8*i:])
	}
	return counted, nil
}
