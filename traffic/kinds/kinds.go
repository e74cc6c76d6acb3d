// Package kinds is the registry of the kinds of load and of the servers of other
// tools' protocols: one line each.
package kinds

import (
	"windtunnel/traffic"
	"windtunnel/traffic/datagram"
	"windtunnel/traffic/frame"
	"windtunnel/traffic/iperf3"
	"windtunnel/traffic/ntttcp"
	"windtunnel/traffic/ping"
	"windtunnel/traffic/stream"
)

var all = []traffic.Kind{
	stream.Kind{},
	datagram.Kind{},
	ping.Kind{},
	frame.Kind{},
}

// servers are the protocols that people's own tools speak: one line a protocol.
var servers = []traffic.Server{
	iperf3.Server{},
	ntttcp.Server{},
}

// Servers lists every foreign protocol's server.
func Servers() []traffic.Server { return append([]traffic.Server(nil), servers...) }

// All lists every kind, in the order in which help shows them.
func All() []traffic.Kind { return append([]traffic.Kind(nil), all...) }

// ByName returns the kind of that name.
func ByName(name string) (traffic.Kind, bool) {
	for _, k := range all {
		if k.Name() == name {
			return k, true
		}
	}
	return nil, false
}
