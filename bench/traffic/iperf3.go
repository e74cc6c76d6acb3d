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
	if err := missing("iperf3"); err != nil {
		return nil, err
	}
	for _, program := range []string{"iperf3", "iperf3-3.21"} {
		if _, err := exec.LookPath(program); err != nil {
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
		segments := strings.Contains(string(help), "--gsro")
		found = append(found, peer{name: "iperf3 " + version, commands: func(given settings, s setup) (commands, bool) {
			return iperf3Commands(program, segments, given, s)
		}})
	}
	return found, nil
}

// iperf3Commands are of UDP as fast as it goes; iperf3 has no request and response.
func iperf3Commands(program string, segments bool, given settings, s setup) (commands, bool) {
	port := strconv.Itoa(peerPort)
	c := commands{ready: wire.Listens(peerPort)}
	c.server = []string{program, "-s", "-1", "-p", port, "-B", wire.B.Address}
	c.client = []string{
		program, "-c", wire.B.Address, "-p", port, "-u", "-b", "0", "-l", strconv.Itoa(s.message),
		"-t", strconv.Itoa(wire.PeerSeconds(given.window)), "-i", "0", "-J",
	}
	if s.offload && segments {
		c.client = append(c.client, "--gsro")
		c.aggregates = true
	}
	return c, s.what == datagrams
}
