package main

import (
	"context"
	"os/exec"
	"strconv"

	"windtunnel/bench/wire"
)

// neperPort is that of its control connection.
const neperPort = 5215

// findNeper finds neper's tcp_stream, which tells no version.
func findNeper(context.Context) ([]peer, error) {
	if _, err := exec.LookPath("tcp_stream"); err != nil {
		return nil, nil // not installed
	}
	return []peer{{name: "neper tcp_stream", port: neperPort, commands: neperCommands}}, nil
}

func neperCommands(s settings, setup setup) (server, client []string, able bool) {
	shared := []string{
		"tcp_stream", "--control-port", strconv.Itoa(neperPort), "--port", strconv.Itoa(peerPort),
		"--buffer-size", strconv.Itoa(setup.message), "--test-length", strconv.Itoa(wire.PeerSeconds(s.window)),
	}
	server, client = shared, append(shared[:len(shared):len(shared)], "--client", "--host", wire.B.Address)
	if setup.zeroCopy {
		server, client = append(server[:len(shared):len(shared)], "--skip-rx-copy"), append(client, "--zerocopy")
	}
	return server, client, !setup.nodelay // it has no switch for TCP_NODELAY on both of its ends
}
