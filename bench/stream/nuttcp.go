package main

import (
	"context"
	"os/exec"
	"strconv"
	"strings"

	"windtunnel/bench/wire"
)

// nuttcpPort is that of its control connection; data goes to peerPort.
const nuttcpPort = 5214

// findNuttcp finds nuttcp, which has no zero copy.
func findNuttcp(ctx context.Context) ([]peer, error) {
	if _, err := exec.LookPath("nuttcp"); err != nil {
		return nil, nil // not installed
	}
	out, err := exec.CommandContext(ctx, "nuttcp", "-V").CombinedOutput()
	if err != nil {
		return nil, err
	}
	name := strings.Replace(strings.TrimSpace(string(out)), "-", " ", 1)
	return []peer{{name: name, port: nuttcpPort, commands: nuttcpCommands}}, nil
}

func nuttcpCommands(s settings, setup setup) (server, client []string, able bool) {
	control, data := "-P"+strconv.Itoa(nuttcpPort), "-p"+strconv.Itoa(peerPort)
	server = []string{"nuttcp", "-1", "--nofork", control}
	client = []string{"nuttcp", "-t", control, data, "-l" + strconv.Itoa(setup.message), "-T" + strconv.Itoa(wire.PeerSeconds(s.window))}
	if setup.nodelay {
		client = append(client, "-D")
	}
	return server, append(client, wire.B.Address), !setup.zeroCopy
}
