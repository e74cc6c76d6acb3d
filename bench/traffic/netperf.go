package main

import (
	"context"
	"os/exec"
	"strconv"

	"windtunnel/bench/wire"
)

// netperfPort is that of netserver's control connection; data goes to peerPort.
const netperfPort = 12865

// findNetperf finds netperf, which is not in Debian's main archive.
func findNetperf(ctx context.Context) ([]peer, error) {
	for _, program := range []string{"netperf", "netserver"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, nil // not installed
		}
	}
	name := "netperf"
	if out, err := versionOf(ctx, "netperf", "-V"); err == nil { // "Netperf version 2.7.1"
		name += " " + out
	}
	return []peer{{name: name, commands: netperfCommands}}, nil
}

func netperfCommands(given settings, s setup) (commands, bool) {
	port, data := strconv.Itoa(netperfPort), strconv.Itoa(peerPort)
	test, options := "UDP_STREAM", []string{"-m", strconv.Itoa(s.message)}
	switch s.what {
	case tcpTransactions:
		test, options = "TCP_RR", []string{"-r", "1,1", "-D"}
	case udpTransactions:
		test, options = "UDP_RR", []string{"-r", "1,1"}
	}
	options = append(options, "-P", ","+data)
	return commands{
		server:  []string{"netserver", "-D", "-4", "-p", port},
		client:  append([]string{"netperf", "-H", wire.B.Address, "-p", port, "-t", test, "-l", strconv.Itoa(wire.PeerSeconds(given.window)), "--"}, options...),
		ready:   wire.Listens(netperfPort),
		lingers: true,
	}, true
}
