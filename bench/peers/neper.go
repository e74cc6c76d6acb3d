package peers

import (
	"context"
	"strconv"

	"windtunnel/bench/wire"
)

// neperPort is that of its control connection; data goes to dataPort.
const neperPort = 5215

// neperPrograms are neper's, by what is counted.
var neperPrograms = map[What]string{Bytes: "tcp_stream", Datagrams: "udp_stream", TCPTransactions: "tcp_rr", UDPTransactions: "udp_rr"}

// findNeper finds neper, all of whose programs are of one version.
func findNeper(ctx context.Context) ([]Tool, error) {
	for _, program := range neperPrograms {
		if !installed(program) {
			return nil, nil
		}
	}
	return one(ctx, "neper", neperCommands, "tcp_stream", "--version")
}

func neperCommands(w Work, seconds int) (Commands, bool) {
	program, able := neperPrograms[w.What]
	shared := []string{program, "--control-port", strconv.Itoa(neperPort), "--port", strconv.Itoa(dataPort), "--test-length", strconv.Itoa(seconds)}
	if w.What == Bytes || w.What == Datagrams {
		shared = append(shared, "--buffer-size", strconv.Itoa(w.Message))
	} else {
		shared = append(shared, "--request-size", strconv.Itoa(w.Message), "--response-size", strconv.Itoa(w.Message))
	}
	with := func(when bool, more ...string) []string {
		if !when {
			more = nil
		}
		return append(shared[:len(shared):len(shared)], more...)
	}
	if w.NoDelay { // only of the end that is told
		shared = with(true, "--no-delay")
	}
	return Commands{
		Server: with(w.ZeroCopy, "--skip-rx-copy"),
		Client: append(with(w.ZeroCopy, "--zerocopy"), "--client", "--host", wire.B.Address),
		Ready:  wire.Listens(neperPort),
	}, able
}
