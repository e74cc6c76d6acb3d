package traffic

import (
	"context"
	"time"

	"windtunnel/result"
)

// Server answers the clients of one protocol, many at once. Each foreign protocol
// is one folder and one line in kinds/.
type Server interface {
	Name() string  // iperf3, ntttcp
	Ports() string // where it listens by default, for help and the greeting: "5201"
	// Serve listens and answers until ctx ends, then frees everything. An error
	// means that it could not listen; what a client does costs that client alone.
	Serve(ctx context.Context, config ServerConfig) error
}

// ServerConfig bounds a server, so that it can be left running.
type ServerConfig struct {
	Host       string        // the IP to bind; "": all
	CPUs       []int         // hot threads are pinned here, in turn; empty: not pinned
	MaxClients int           // sessions at once; more are refused in the protocol's own way
	MaxBytes   uint64        // of payload in one session, 0: no bound
	MaxTime    time.Duration // of one session, 0: no bound
	// Ready is called once with the addresses, when it listens; may be nil.
	Ready func(addresses []string)
	// Lacks is told of ports that another program has where a server of several does without; an error of it ends the
	// server. May be nil.
	Lacks func(why error) error
	// Event is told what happens, one call at a time a server; may be nil.
	Event func(ServerEvent)
}

// The kinds of a ServerEvent.
const (
	SessionBegan    = "began"
	SessionInterval = "interval"
	SessionEnded    = "ended"
	SessionRefused  = "refused"
	SessionFailed   = "failed"
)

// ServerEvent is something that happened to one client.
type ServerEvent struct {
	Protocol string           `json:"protocol"`
	Session  uint64           `json:"session"` // counts from 1 in one server
	Client   string           `json:"client"`  // IP:port
	What     string           `json:"what"`
	Says     string           `json:"says,omitempty"`
	Interval *result.Interval `json:"interval,omitempty"`
	End      *result.PairEnd  `json:"end,omitempty"`
}
