package main

import (
	"context"
	"strconv"
	"strings"

	"windtunnel/bench/wire"
)

// sockperfPort is its server's, TCP or UDP.
const sockperfPort = 5218

// sockperfLeast is the size of its own header.
const sockperfLeast = 14

// findSockperf finds sockperf, which must be there.
func findSockperf(ctx context.Context) ([]peer, error) {
	if err := missing("sockperf"); err != nil {
		return nil, err
	}
	name := "sockperf"
	// "sockperf, version 3.7-no.git"
	if version, err := versionOf(ctx, "sockperf", "--version"); err == nil && !strings.HasPrefix(version, "version") {
		name += " " + version
	}
	return []peer{{name: name, commands: sockperfCommands}}, nil
}

// sockperfCommands are of a client that first measures its clock for 2 s.
func sockperfCommands(given settings, s setup) (commands, bool) {
	size := max(s.message, sockperfLeast)
	shared := []string{"-i", wire.B.Address, "-p", strconv.Itoa(sockperfPort)}
	c := commands{ready: binds(sockperfPort), begun: flows, lingers: true, message: size}
	mode := "ping-pong"
	switch s.what {
	case tcpTransactions:
		shared = append(shared, "--tcp")
		c.ready = wire.Listens(sockperfPort)
	case datagrams:
		mode = "throughput"
	}
	c.server = append([]string{"sockperf", "server"}, shared...)
	c.client = append(append([]string{"sockperf", mode}, shared...), "-m", strconv.Itoa(size), "-t", strconv.Itoa(wire.PeerSeconds(given.window)), "--mps=max")
	return c, true
}
