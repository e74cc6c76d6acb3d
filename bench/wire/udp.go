package wire

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// udpCounters are a network namespace's, of RFC 4113. An aggregate (UDP_GRO) is one.
type udpCounters struct {
	datagrams uint64 // InDatagrams: handed to sockets
	errors    uint64 // InErrors: not, most because a socket had no room (udp(7))
}

// readUDP reads the counters of the calling thread's network namespace.
func readUDP() (udpCounters, error) {
	text, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return udpCounters{}, fmt.Errorf("reading UDP's counters: %w", err)
	}
	return parseUDP(string(text))
}

// parseUDP reads the line of names that begins with "Udp:" and the line of values
// below it.
func parseUDP(snmp string) (c udpCounters, err error) {
	var names []string
	values := map[string]uint64{}
	for line := range strings.Lines(snmp) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Udp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names[1:min(len(names), len(fields))] {
			if values[name], err = strconv.ParseUint(fields[i+1], 10, 64); err != nil {
				return c, fmt.Errorf("UDP's %s: %w", name, err)
			}
		}
	}
	var told, toldErrors bool
	c.datagrams, told = values["InDatagrams"]
	c.errors, toldErrors = values["InErrors"]
	if !told || !toldErrors {
		return c, errors.New("the kernel tells no UDP InDatagrams or InErrors")
	}
	return c, nil
}
