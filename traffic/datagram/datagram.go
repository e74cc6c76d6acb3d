package datagram

import (
	"context"
	"errors"
	"fmt"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Kind is the kind of load "datagram".
type Kind struct{}

var (
	_ traffic.Kind       = Kind{}
	_ traffic.Calibrator = Kind{}
)

// Name returns "datagram".
func (Kind) Name() string { return "datagram" }

// The limits of the options.
const (
	maxFlows  = 1024
	maxBuffer = 1 << 30
	maxRate   = 1e13 // bits per second
	maxBurst  = 1 << 20
)

// The words of the option direction.
const (
	forward = "forward"
	reverse = "reverse"
	both    = "both"
)

// The words of the option priority.
const (
	priorityAuto = "auto"
	priorityKept = "kept"
)

// The words of the option poll.
const (
	pollAuto  = "auto"
	pollBlock = "block"
	pollBusy  = "busy"
)

// The words of the option verify.
const (
	verifyHeader  = "header"
	verifyPayload = "payload"
)

var options = []result.Option{
	{Name: "message", Type: result.Size, Min: shortSize, Max: maxPayload, Default: int64(1400), Says: "bytes of UDP payload in a datagram, its header of 48 bytes included (18 below 48: a 64-byte frame)"},
	{Name: "rate", Type: result.BitRate, Min: 1, Max: maxRate, Says: "bits of UDP payload per second over all flows, in each direction; absent: as fast as it goes"},
	{Name: "packets", Type: result.PacketRate, Min: 0.01, Max: maxRate, Says: "datagrams per second over all flows, in each direction; beside rate the lower one counts"},
	{Name: "flows", Type: result.Count, Min: 1, Max: maxFlows, Default: int64(1), Says: "numbered sequences of datagrams, each from a source port of its own"},
	{Name: "threads", Type: result.Count, Min: 1, Max: maxFlows, Default: int64(1), Says: "hot threads at each end, and destination ports; the flows are dealt to them in turn, so at most as many"},
	{Name: "segmentation", Type: result.Word, Words: []string{offloadAuto, offloadOff}, Default: offloadAuto, Says: "send many datagrams as one, for the kernel to cut (UDP_SEGMENT), where the path takes it, or never"},
	{Name: "aggregation", Type: result.Word, Words: []string{offloadAuto, offloadOff}, Default: offloadAuto, Says: "receive datagrams that the kernel has joined (UDP_GRO), where it does, or never"},
	{Name: "burst", Type: result.Count, Min: 1, Max: maxBurst, Beside: []string{"rate", "packets"}, Says: "datagrams that may leave at once after the sender was late, over all threads; absent: what 4 ms bring"},
	{Name: "buffer", Type: result.Size, Min: 4096, Max: maxBuffer, Says: "a socket's send and receive buffers (SO_SNDBUF, SO_RCVBUF); absent: 4 MiB and 16 MiB as far as the system lets; to receive as fast as it goes 4 MiB, which caches hold"},
	{Name: "dscp", Type: result.Count, Min: 0, Max: 63, Says: "differentiated services code point of the datagrams (RFC 2474)"},
	{Name: "direction", Type: result.Word, Words: []string{forward, reverse, both}, Default: forward, Says: "which way the datagrams flow: from the connecting end, to it, or both ways at once (rates are each way's)"},
	{Name: "verify", Type: result.Word, Words: []string{verifyHeader, verifyPayload}, Default: verifyPayload, Says: "what a receiver looks at to find corrupt datagrams: the header, or every byte"},
	{Name: "priority", Type: result.Word, Words: []string{priorityAuto, priorityKept}, Default: priorityAuto, Says: "let a receiver's thread take a higher priority (nice -10, where the system lets it) while datagrams come one by one as fast as they go and the kernel's stack works on its CPU, or never"},
	{Name: "poll", Type: result.Word, Words: []string{pollAuto, pollBlock, pollBusy}, Says: "let a receiver's thread sleep until something comes (block), or, where it would take a higher priority, ask for 30 us before it sleeps, without a rate and with a thread for each flow, in real time (SCHED_FIFO, where the system lets it), at the price of CPU time (busy); auto: the only hot thread of a program tries both in the warm-up, and polls where 1.05 times as much comes; absent: auto in one-off use, block in a suite, which compares CPU time"},
	{Name: "window", Type: result.Count, Min: 64, Max: maxWindow, Default: int64(defaultWindow), Says: "numbers of a flow within which a datagram that was overtaken is reordered; later it is late"},
}

// Options are the keys that datagram takes in a suite's traffic block.
func (Kind) Options() []result.Option { return append([]result.Option(nil), options...) }

// Check refuses options that do not fit each other.
func (Kind) Check(load result.Options) error {
	_, err := parseLoad(load)
	return err
}

// Prepare makes a receiver listen, or a sender say hello and open its flows.
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
	return nil, fmt.Errorf("datagram has no role %q: it is %q or %q", order.Role, traffic.Send, traffic.Receive)
}

// load is the options of one worker, typed.
type load struct {
	message   int     // bytes
	rate      float64 // bits per second over all flows; 0: no rate
	packets   float64 // per second over all flows; 0: no rate
	flows     int
	threads   int
	segment   string
	aggregate string
	burst     int // datagrams over all threads; 0: chosen
	buffer    int // bytes; 0: chosen
	dscp      int // -1: as the system has it
	direction string
	verify    bool
	window    int
	keep      bool   // the receiver's priority
	poll      string // "": as who runs it has it
}

func parseLoad(given result.Options) (load, error) {
	given, err := result.Fill(options, given)
	if err != nil {
		return load{}, err
	}
	l := load{
		message: int(given.Int("message")), rate: given.Float("rate"), packets: given.Float("packets"),
		flows: int(given.Int("flows")), threads: int(given.Int("threads")), segment: given.Text("segmentation"), aggregate: given.Text("aggregation"),
		burst: int(given.Int("burst")), buffer: int(given.Int("buffer")), dscp: -1, direction: given.Text("direction"),
		verify: given.Text("verify") == verifyPayload, window: int(given.Int("window")), keep: given.Text("priority") == priorityKept, poll: given.Text("poll"),
	}
	if given["dscp"] != nil {
		l.dscp = int(given.Int("dscp"))
	}
	switch {
	case l.poll == pollBusy && !canPoll:
		return load{}, errors.New("this system's receiver does not poll: set poll to auto or block")
	case l.poll == pollBusy && (l.rate > 0 || l.packets > 0):
		return load{}, errors.New("`poll: busy` has no effect beside a rate, as a search's trials have one: a receiver polls for what comes as fast as it goes; leave out poll, or rate and packets")
	case l.poll == pollBusy && l.flows > l.threads:
		return load{}, fmt.Errorf("`poll: busy` has no effect for %d flows of %d threads, as a receiver polls for one flow a thread: set threads to %d, or leave poll out", l.flows, l.threads, l.flows)
	case l.threads > l.flows:
		return load{}, fmt.Errorf("%d threads for %d flows: a thread without a flow does nothing; set flows to at least %d", l.threads, l.flows, l.threads)
	case l.burst > 0 && l.burst < l.threads:
		return load{}, fmt.Errorf("a burst of %d datagrams for %d threads: each thread needs one; set burst to at least %d", l.burst, l.threads, l.threads)
	}
	return l, nil
}

// goes tells whether datagrams flow from the sender (forth) or to it.
func (l load) goes(forth bool) bool {
	return l.direction == both || (l.direction == forward) == forth
}

// config is the load as the engine takes it.
func (l load) config(k key, cpus []int) Config {
	return Config{
		Message: l.message, Codec: headerFor(l.message, k),
		BitsPerSecond: l.rate / float64(l.flows), PacketsPerSecond: l.packets / float64(l.flows),
		Burst: l.burst / l.threads, Segmentation: l.segment, Aggregation: l.aggregate, Threads: l.threads, CPUs: cpus, Buffer: l.buffer,
		Verify: l.verify, Window: l.window, FailTogether: true, KeepPriority: l.keep,
		GonePatience: goneMost,
	}
}

// polling is the option poll as it is meant, of a test by hand or of a suite's trial.
func (l load) polling(oneOff bool) string {
	if l.poll == "" && oneOff {
		return pollAuto
	}
	return l.poll
}
