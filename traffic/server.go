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

// byteLook is the shortest time between two looks at what a session has moved.
const byteLook = 10 * time.Millisecond

// ByteWatch is how often a server looks whether a session has reached so many bytes, 0: no bound; as often as it looks at all at least.
// At up to 100 Gbit/s a session passes the bound by what comes in 10 ms or by a tenth of it, whichever is more.
func ByteWatch(maxBytes uint64, most time.Duration) time.Duration {
	if maxBytes == 0 {
		return most
	}
	const bytesPerSecond = 100e9 / 8
	tenth := time.Duration(float64(maxBytes) / 10 / bytesPerSecond * float64(time.Second))
	return min(most, max(byteLook, tenth))
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
	Requests bool             `json:"requests,omitempty"` // the packets of its intervals and of its end are requests that were answered
	Says     string           `json:"says,omitempty"`
	Interval *result.Interval `json:"interval,omitempty"`
	End      *result.PairEnd  `json:"end,omitempty"`
}
