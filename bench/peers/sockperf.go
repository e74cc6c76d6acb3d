package peers

import (
	"context"
	"strconv"

	"windtunnel/bench/wire"
)

// sockperfPort is its server's, TCP or UDP.
const sockperfPort = 5218

// sockperfLeast is the size of its own header.
const sockperfLeast = 14

// findSockperf finds sockperf, which has no stream of bytes.
func findSockperf(ctx context.Context) ([]Tool, error) {
	return one(ctx, "sockperf", sockperfCommands, "sockperf", "--version")
}

// sockperfCommands are of a client that first measures its clock for 2 s.
func sockperfCommands(w Work, seconds int) (Commands, bool) {
	size := max(w.Message, sockperfLeast)
	shared := []string{"-i", wire.B.Address, "-p", strconv.Itoa(sockperfPort)}
	c := Commands{Ready: wire.Binds(sockperfPort), Begun: wire.Flows, Lingers: true, Message: size}
	mode := "ping-pong"
	switch w.What {
	case TCPTransactions:
		shared = append(shared, "--tcp")
		c.Ready = wire.Listens(sockperfPort)
	case Datagrams:
		mode = "throughput"
	}
	c.Server = append([]string{"sockperf", "server"}, shared...)
	c.Client = append(append([]string{"sockperf", mode}, shared...), "-m", strconv.Itoa(size), "-t", strconv.Itoa(seconds), "--mps=max")
	return c, w.What != Bytes && w.What != Frames
}
