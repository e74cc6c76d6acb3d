package peers

import (
	"context"
	"strconv"

	"windtunnel/bench/wire"
)

// netperfPort is that of netserver's control connection; data goes to dataPort.
const netperfPort = 12865

// findNetperf finds netperf, which is not in Debian's main archive.
func findNetperf(ctx context.Context) ([]Tool, error) {
	if !installed("netperf", "netserver") {
		return nil, nil
	}
	return one(ctx, "netperf", netperfCommands, "netperf", "-V")
}

func netperfCommands(w Work, seconds int) (Commands, bool) {
	size := strconv.Itoa(w.Message)
	test, options := "", []string(nil)
	switch w.What {
	case Bytes:
		test, options = "TCP_STREAM", []string{"-m", size}
		if w.ZeroCopy {
			test = "TCP_SENDFILE"
		}
	case Datagrams:
		test, options = "UDP_STREAM", []string{"-m", size}
	case TCPTransactions:
		test, options = "TCP_RR", []string{"-r", size + "," + size}
	case UDPTransactions:
		test, options = "UDP_RR", []string{"-r", size + "," + size}
	default:
		return Commands{}, false
	}
	if w.NoDelay || w.What == TCPTransactions {
		options = append(options, "-D")
	}
	port := strconv.Itoa(netperfPort)
	return Commands{
		Server: []string{"netserver", "-D", "-4", "-p", port},
		Client: append([]string{
			"netperf", "-H", wire.B.Address, "-p", port, "-t", test, "-l", strconv.Itoa(seconds), "--", "-P", "," + strconv.Itoa(dataPort),
		}, options...),
		Ready:   wire.Listens(netperfPort),
		Lingers: true,
	}, true
}
