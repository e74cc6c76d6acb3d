// Package stream is bulk TCP: every stream writes messages of one size as fast
// as its socket takes them or at a rate, and the receiver reads them into one hot
// buffer or drops them in the kernel.
//
// Engine moves the bytes of connected sockets; Kind lets two workers find each
// other and measure a window with it. The streams are dealt to hot threads, which are locked, pinned, allocate
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
	// MaxBurst is the deepest bucket, in bytes.
	MaxBurst = maxBuffer
)

// leastRate is the least rate of a stream: one segment then takes a fifth of a
// second, which no end takes for a stall.
const leastRate = 64e3

var options = []result.Option{
	{Name: "message", Type: result.Size, Min: 1, Max: maxMessage, Default: int64(defaultMessage), Says: "bytes that TCP gets at once; of small ones a system call takes several, each by itself"},
	{Name: "streams", Type: result.Count, Min: 1, Max: maxStreams, Default: int64(1), Says: "TCP connections, in each direction"},
	{Name: "threads", Type: result.Count, Min: 1, Max: maxStreams, Default: int64(1), Says: "hot threads at each end for each direction; the streams are dealt to them in turn, so at most as many"},
	{Name: "direction", Type: result.Word, Words: []string{"forward", "reverse", "both"}, Default: "forward", Says: "forward: from who connects; reverse: to who connects; both: at once, on connections of their own"},
	{Name: "nodelay", Type: result.Switch, Default: false, Says: "send each message at once (TCP_NODELAY)"},
	{Name: "copy", Type: result.Word, Words: copies, Default: CopyPlain, Says: "how messages reach the kernel: copied, by MSG_ZEROCOPY, by sendfile from memory, or by splice, which is the fastest between virtual devices (messages of 1 MiB at most)"},
	{Name: "discard", Type: result.Switch, Default: false, Says: "drop what arrives in the kernel, without copying it out (MSG_TRUNC)"},
	{Name: "rate", Type: result.BitRate, Min: leastRate, Max: 1e13, Says: "payload of each stream; absent: as fast as it goes"},
	{Name: "pacing", Type: result.Word, Words: []string{PaceAuto, PaceKernel, PaceBucket}, Default: PaceAuto, Says: "who keeps the rate: the kernel (SO_MAX_PACING_RATE) or a token bucket; auto: a bucket where a burst is given, else the kernel where it can"},
	{Name: "burst", Type: result.Size, Min: 1, Max: MaxBurst, Says: "depth of the token bucket; absent: 10 ms of the rate"},
	{Name: "buffer", Type: result.Size, Min: 4096, Max: maxBuffer, Says: "the socket's send and receive buffers (SO_SNDBUF, SO_RCVBUF); absent: the kernel tunes them"},
	{Name: "receive-buffer", Type: result.Size, Min: 4096, Max: maxBuffer, Says: "the receive buffer alone (SO_RCVBUF), whatever buffer says"},
	{Name: "congestion", Type: result.Word, Default: "cubic", Says: "congestion control, set per socket (TCP_CONGESTION)"},
	{Name: "mss", Type: result.Size, Min: 88, Max: 32767, Says: "the largest segment (TCP_MAXSEG); absent: what the path's MTU allows"},
	{Name: "dscp", Type: result.Count, Min: 0, Max: 63, Says: "the packets' DSCP (RFC 2474)"},
}

// Options are the keys that stream takes in a suite's traffic block.
func (Kind) Options() []result.Option { return append([]result.Option(nil), options...) }

// Check refuses options that do not fit each other.
func (Kind) Check(load result.Options) error {
	_, err := parseLoad(load)
	return err
}

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
