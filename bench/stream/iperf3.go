package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"windtunnel/bench/wire"
)

// findIperf3 finds the iperf3 of the system, which must be there, and a newer one
// that was put beside it.
func findIperf3(ctx context.Context) (found []peer, err error) {
	for _, program := range []string{"iperf3", "iperf3-3.21"} {
		if _, err := exec.LookPath(program); err != nil {
			if program == "iperf3" {
				return nil, fmt.Errorf("finding iperf3 (Debian: apt-get install iperf3): %w", err)
			}
			continue
		}
		version, err := versionOf(ctx, program, "--version")
		if err != nil {
			return nil, err
		}
		help, err := exec.CommandContext(ctx, program, "--help").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("asking %s for its options: %w", program, err)
		}
		skips := strings.Contains(string(help), "--skip-rx-copy")
		found = append(found, peer{name: "iperf3 " + version, port: peerPort, commands: func(s settings, setup setup) (server, client []string, able bool) {
			server, client = iperf3Commands(program, skips, s, setup)
			return server, client, true
		}})
	}
	return found, nil
}

func iperf3Commands(program string, skips bool, s settings, setup setup) (server, client []string) {
	port := strconv.Itoa(peerPort)
	server = []string{program, "-s", "-1", "-p", port, "-B", wire.B.Address}
	client = []string{
		program, "-c", wire.B.Address, "-p", port, "-C", "cubic", "-l", strconv.Itoa(setup.message),
		"-t", strconv.Itoa(wire.PeerSeconds(s.window)), "-i", "0", "-J",
	}
	if setup.nodelay {
		client = append(client, "-N")
	}
	if setup.zeroCopy {
		client = append(client, "-Z")
		if skips { // the client tells the server
			client = append(client, "--skip-rx-copy")
		}
	}
	return server, client
}
