// Package stream is bulk TCP: every stream writes messages of one size as fast
// as its socket takes them, and the receiver reads them into one hot buffer.
//
// The streams are dealt to hot threads, which are locked, pinned, allocate
// nothing and make raw system calls. A control goroutine reads their counters
// and the clock at the window's two ends; everything else is cold.
package stream

import (
	"context"
	"fmt"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Kind is the kind of load "stream".
type Kind struct{}

var _ traffic.Kind = Kind{}

// Name returns "stream".
func (Kind) Name() string { return "stream" }

// The limits of the options.
const (
	maxMessage = 16 << 20
	maxStreams = 1024
	maxBuffer  = 1 << 30
)

var options = []result.Option{
	{Name: "message", Type: result.Size, Min: 1, Max: maxMessage, Default: int64(128 << 10), Says: "bytes handed to the socket in one call"},
	{Name: "streams", Type: result.Count, Min: 1, Max: maxStreams, Default: int64(1), Says: "TCP connections"},
	{Name: "threads", Type: result.Count, Min: 1, Max: maxStreams, Default: int64(1), Says: "hot threads at each end; the streams are dealt to them in turn, so at most as many"},
	{Name: "nodelay", Type: result.Switch, Default: false, Says: "send each message at once (TCP_NODELAY)"},
	{Name: "buffer", Type: result.Size, Min: 4096, Max: maxBuffer, Says: "the socket's send and receive buffers (SO_SNDBUF, SO_RCVBUF); absent: the kernel tunes them"},
	{Name: "congestion", Type: result.Word, Default: "cubic", Says: "congestion control, set per socket (TCP_CONGESTION)"},
}

// Options are the keys that stream takes in a suite's traffic block.
func (Kind) Options() []result.Option { return append([]result.Option(nil), options...) }

// Prepare makes a receiver listen, or a sender connect all its streams.
func (Kind) Prepare(ctx context.Context, order traffic.Order) (traffic.Worker, error) {
	load, err := parseLoad(order.Load)
	if err != nil {
		return nil, err
	}
	switch order.Role {
	case traffic.Receive:
		return listen(ctx, load, order)
	case traffic.Send:
		return connect(ctx, load, order)
	}
	return nil, fmt.Errorf("stream has no role %q: it is %q or %q", order.Role, traffic.Send, traffic.Receive)
}

// load is the options of one worker, typed.
type load struct {
	message    int // bytes
	streams    int
	threads    int
	nodelay    bool
	buffer     int // bytes; 0: the kernel's tuning
	congestion string
}

func parseLoad(given result.Options) (load, error) {
	for _, o := range options {
		if err := check(o, given); err != nil {
			return load{}, err
		}
	}
	l := load{
		message:    int(count(given, "message")),
		streams:    int(count(given, "streams")),
		threads:    int(count(given, "threads")),
		nodelay:    given.Bool("nodelay"),
		buffer:     int(count(given, "buffer")),
		congestion: given.Text("congestion"),
	}
	if l.congestion == "" {
		l.congestion = "cubic"
	}
	if l.threads > l.streams {
		return load{}, fmt.Errorf("%d threads for %d streams: a thread without a stream does nothing; set streams to at least %d", l.threads, l.streams, l.threads)
	}
	return l, nil
}

// check refuses a number outside of its option's bounds.
func check(o result.Option, given result.Options) error {
	if given[o.Name] == nil || o.Max == 0 {
		return nil
	}
	if v := given.Float(o.Name); v < o.Min || v > o.Max {
		return fmt.Errorf("%s is %g, not within %g and %g", o.Name, v, o.Min, o.Max)
	}
	return nil
}

// count is a Count or Size, or its option's default when the order names none.
func count(given result.Options, name string) int64 {
	if given[name] != nil {
		return given.Int(name)
	}
	for _, o := range options {
		if o.Name == name && o.Default != nil {
			return o.Default.(int64)
		}
	}
	return 0
}
