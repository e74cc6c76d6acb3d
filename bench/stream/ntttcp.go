package main

import (
	"context"
	"os/exec"
	"strconv"

	"windtunnel/bench/wire"
)

// ntttcpPort is where its first data connection goes; it synchronises a port lower.
const ntttcpPort = 5217

// findNtttcp finds ntttcp-for-linux.
func findNtttcp(ctx context.Context) ([]peer, error) {
	if _, err := exec.LookPath("ntttcp"); err != nil {
		return nil, nil // not installed
	}
	name := "ntttcp-for-linux"
	if version, err := versionOf(ctx, "ntttcp", "-V"); err == nil {
		name += " " + version
	}
	return []peer{{name: name, port: ntttcpPort - 1, commands: ntttcpCommands}}, nil
}

func ntttcpCommands(s settings, setup setup) (server, client []string, able bool) {
	shared := []string{"-m", "1,*," + wire.B.Address, "-p", strconv.Itoa(ntttcpPort), "-b", strconv.Itoa(setup.message), "-t", strconv.Itoa(wire.PeerSeconds(s.window))}
	server = append([]string{"ntttcp", "-r"}, shared...)
	client = append([]string{"ntttcp", "-s", "-n", "1"}, shared...)
	return server, client, !setup.nodelay && !setup.zeroCopy // it has neither
}
