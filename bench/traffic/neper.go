package main

import (
	"context"
	"os/exec"
	"strconv"

	"windtunnel/bench/wire"
)

// neperPort is that of its control connection.
const neperPort = 5215

// neperPrograms are neper's, by what a setup counts.
var neperPrograms = map[counted]string{datagrams: "udp_stream", tcpTransactions: "tcp_rr", udpTransactions: "udp_rr"}

// findNeper finds neper, which tells no version. Each program of it is a peer.
func findNeper(context.Context) (found []peer, err error) {
	for what, program := range neperPrograms {
		if _, err := exec.LookPath(program); err != nil {
			continue // not installed
		}
		found = append(found, peer{name: "neper " + program, commands: func(given settings, s setup) (commands, bool) {
			return neperCommands(program, given, s), s.what == what
		}})
	}
	return found, nil
}

func neperCommands(program string, given settings, s setup) commands {
	shared := []string{program, "--control-port", strconv.Itoa(neperPort), "--port", strconv.Itoa(peerPort), "--test-length", strconv.Itoa(wire.PeerSeconds(given.window))}
	if s.what == datagrams {
		shared = append(shared, "--buffer-size", strconv.Itoa(s.message))
	} else {
		shared = append(shared, "--request-size", "1", "--response-size", "1")
	}
	return commands{
		server: shared,
		client: append(shared[:len(shared):len(shared)], "--client", "--host", wire.B.Address),
		ready:  wire.Listens(neperPort),
	}
}
