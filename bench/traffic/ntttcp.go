package main

import (
	"context"
	"os/exec"
	"strconv"

	"windtunnel/bench/wire"
)

// ntttcpPort is where its first data connection goes; it synchronises a port lower.
const ntttcpPort = 5217

// findNtttcp finds ntttcp-for-linux, which has no request and response.
func findNtttcp(ctx context.Context) ([]peer, error) {
	if _, err := exec.LookPath("ntttcp"); err != nil {
		return nil, nil // not installed
	}
	name := "ntttcp-for-linux"
	if version, err := versionOf(ctx, "ntttcp", "-V"); err == nil {
		name += " " + version
	}
	return []peer{{name: name, commands: ntttcpCommands}}, nil
}

func ntttcpCommands(given settings, s setup) (commands, bool) {
	shared := []string{"-u", "-m", "1,*," + wire.B.Address, "-p", strconv.Itoa(ntttcpPort), "-b", strconv.Itoa(s.message), "-t", strconv.Itoa(wire.PeerSeconds(given.window))}
	return commands{
		server: append([]string{"ntttcp", "-r"}, shared...),
		client: append([]string{"ntttcp", "-s", "-n", "1"}, shared...),
		ready:  wire.Listens(ntttcpPort - 1),
	}, s.what == datagrams
}
