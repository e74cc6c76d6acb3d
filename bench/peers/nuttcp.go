package peers

import (
	"context"
	"strconv"

	"windtunnel/bench/wire"
)

// nuttcpPort is that of its control connection; data goes to dataPort.
const nuttcpPort = 5214

// findNuttcp finds nuttcp, which has no zero copy, sends one datagram a call and has no
// request and response.
func findNuttcp(ctx context.Context) ([]Tool, error) {
	return one(ctx, "nuttcp", nuttcpCommands, "nuttcp", "-V")
}

func nuttcpCommands(w Work, seconds int) (Commands, bool) {
	control := "-P" + strconv.Itoa(nuttcpPort)
	client := []string{"nuttcp", "-t", control, "-p" + strconv.Itoa(dataPort), "-l" + strconv.Itoa(w.Message), "-T" + strconv.Itoa(seconds)}
	if w.NoDelay {
		client = append(client, "-D")
	}
	if w.What == Datagrams {
		client = append(client, "-u", "-Ru")
	}
	return Commands{
		Server: []string{"nuttcp", "-1", "--nofork", control},
		Client: append(client, wire.B.Address),
		Ready:  wire.Listens(nuttcpPort),
	}, w.What == Bytes && !w.ZeroCopy || w.What == Datagrams
}
