package wire

import (
	"errors"
	"fmt"
	"os"

	"windtunnel/traffic"
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

func parseUDP(snmp string) (c udpCounters, err error) {
	values := traffic.NetTable(snmp)
	var told, toldErrors bool
	c.datagrams, told = values["Udp.InDatagrams"]
	c.errors, toldErrors = values["Udp.InErrors"]
	if !told || !toldErrors {
		return c, errors.New("the kernel tells no UDP InDatagrams or InErrors")
	}
	return c, nil
}
