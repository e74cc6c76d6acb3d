package peers

import (
	"context"
	"strconv"
	"strings"

	"windtunnel/bench/wire"
)

// With --gsro iperf3 3.21 hands the kernel as many datagrams at once as a message of UDP holds (MAX_UDP_BLOCKSIZE in src/iperf.h), of
// which that cuts so many (UDP_MAX_SEGMENTS in include/linux/udp.h): of short datagrams it sends none.
const (
	udpMessage = 65507
	mostCut    = 128
)

// findIperf3 finds the iperf3 of the system, which must be here, and a newer one that
// was put beside it. It has no request and response.
func findIperf3(ctx context.Context) (found []Tool, err error) {
	if err := missing("iperf3"); err != nil {
		return nil, err
	}
	for _, program := range []string{"iperf3", "iperf3-3.21"} {
		if !installed(program) {
			continue
		}
		name, err := named(ctx, "iperf3", program, "--version")
		if err != nil {
			return nil, err
		}
		help, err := ask(ctx, program, "--help")
		if err != nil {
			return nil, err
		}
		found = append(found, Tool{Name: name, Commands: func(w Work, seconds int) (Commands, bool) {
			return iperf3Commands(program, help, w, seconds)
		}})
	}
	return found, nil
}

func iperf3Commands(program, help string, w Work, seconds int) (Commands, bool) {
	port := strconv.Itoa(dataPort)
	c := Commands{
		Server: []string{program, "-s", "-1", "-p", port, "-B", wire.B.Address},
		Client: []string{program, "-c", wire.B.Address, "-p", port, "-l", strconv.Itoa(w.Message), "-t", strconv.Itoa(seconds), "-i", "0", "-J"},
		Ready:  wire.Listens(dataPort),
	}
	// add gives an option to a client that knows it, who tells its server.
	add := func(when bool, option string) bool {
		if when && strings.Contains(help, option) {
			c.Client = append(c.Client, option)
			return true
		}
		return false
	}
	switch w.What {
	case Bytes:
		c.Client = append(c.Client, "-C", "cubic")
		add(w.NoDelay, "--no-delay")
		add(w.ZeroCopy, "--zerocopy")
		add(w.ZeroCopy, "--skip-rx-copy")
	case Datagrams:
		c.Client = append(c.Client, "-u", "-b", "0")
		c.Aggregates = add(w.Offload && w.Message*mostCut >= udpMessage, "--gsro")
	}
	return c, w.What == Bytes || w.What == Datagrams
}
