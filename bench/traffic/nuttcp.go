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

// findNuttcp finds nuttcp, which sends one datagram a call and has no request and
// response.
func findNuttcp(ctx context.Context) ([]peer, error) {
	if err := missing("nuttcp"); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "nuttcp", "-V").CombinedOutput()
	if err != nil {
		return nil, err
	}
	name := strings.Replace(strings.TrimSpace(string(out)), "-", " ", 1)
	return []peer{{name: name, commands: nuttcpCommands}}, nil
}

func nuttcpCommands(given settings, s setup) (commands, bool) {
	control, data := "-P"+strconv.Itoa(nuttcpPort), "-p"+strconv.Itoa(peerPort)
	return commands{
		server: []string{"nuttcp", "-1", "--nofork", control},
		client: []string{"nuttcp", "-t", "-u", "-Ru", control, data, "-l" + strconv.Itoa(s.message), "-T" + strconv.Itoa(wire.PeerSeconds(given.window)), wire.B.Address},
		ready:  wire.Listens(nuttcpPort),
	}, s.what == datagrams
}
