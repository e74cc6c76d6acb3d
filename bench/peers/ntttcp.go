package peers

import (
	"context"
	"strconv"

	"windtunnel/bench/wire"
)

// ntttcpPort is where its first data connection goes; it synchronises a port lower.
const ntttcpPort = 5217

// findNtttcp finds ntttcp-for-linux, which has neither zero copy nor request and
// response.
func findNtttcp(ctx context.Context) ([]Tool, error) {
	if !installed("ntttcp") {
		return nil, nil
	}
	return one(ctx, "ntttcp-for-linux", ntttcpCommands, "ntttcp", "-h")
}

func ntttcpCommands(w Work, seconds int) (Commands, bool) {
	shared := []string{"-m", "1,*," + wire.B.Address, "-p", strconv.Itoa(ntttcpPort), "-b", strconv.Itoa(w.Message), "-t", strconv.Itoa(seconds)}
	if w.NoDelay {
		shared = append(shared, "--no-delay")
	}
	if w.What == Datagrams {
		shared = append(shared, "-u")
	}
	return Commands{
		Server: append([]string{"ntttcp", "-r"}, shared...),
		Client: append([]string{"ntttcp", "-s", "-n", "1"}, shared...),
		Ready:  wire.Listens(ntttcpPort - 1),
		// The receiver of 1.4.3 ends only with a datagram that comes after its time, which the last one often is not:
		// its thread then waits in recvfrom for ever.
		Lingers: true,
	}, w.What == Bytes && !w.ZeroCopy || w.What == Datagrams
}
