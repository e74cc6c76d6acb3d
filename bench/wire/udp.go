package wire

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// readUDP is how many datagrams the calling thread's network namespace has handed
// to sockets (InDatagrams of RFC 4113): one recvmsg is one, so that what UDP_GRO
// hands over as an aggregate counts once.
func readUDP() (uint64, error) {
	text, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0, fmt.Errorf("reading UDP's counters: %w", err)
	}
	return parseUDP(string(text))
}

// parseUDP reads the line of names that begins with "Udp:" and the line of values
// below it.
func parseUDP(snmp string) (uint64, error) {
	var names []string
	for line := range strings.Lines(snmp) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Udp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "InDatagrams" && i < len(fields) {
				return strconv.ParseUint(fields[i], 10, 64)
			}
		}
	}
	return 0, errors.New("the kernel tells no UDP InDatagrams")
}
