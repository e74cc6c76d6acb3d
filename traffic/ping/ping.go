// Package ping is request and response over TCP or UDP: how long an answer takes.
//
// Without a rate it is a closed loop, as netperf's TCP_RR and UDP_RR: each request
// waits for the answer before it. Its latencies suffer from coordinated omission: a
// path that stalls for 100 ms spoils one request, where it would have spoilt every
// user's that came meanwhile. With a rate it is an open loop: requests are due at
// stated times whatever becomes of those before, and latency is counted from the
// time that a request was meant to leave as well as from the time that it left. A
// late request leaves at once and its lag is counted; none is skipped. What exceeds
// the bound of outstanding requests is refused and counted.
//
// A request belongs to the window when it was meant to leave in it, however late
// its answer comes. PairEnd.Packets of the sender are answered requests, and
// Arrived tells of the others: lost ones (no answer within the wait), and late ones
// (answered after it). Over TCP, where nothing is lost, a request that is still
// open when the trial ends counts as lost, and the time it has waited so far goes
// into the latencies, so that a stall shows in the tail. Where a trial is cut short,
// what is under way and has not waited for that long yet counts as nothing at all:
// nobody knows what would have become of it.
package ping

import (
	"context"
	"errors"
	"fmt"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Kind is the kind of load "ping".
type Kind struct{}

var (
	_ traffic.Kind       = Kind{}
	_ traffic.Calibrator = Kind{}
	_ traffic.Lingerer   = Kind{}
)

// Name returns "ping".
func (Kind) Name() string { return "ping" }

// The words of the options.
const (
	overTCP = "tcp"
	overUDP = "udp"
	fixed   = "fixed"
	poisson = "poisson"
	block   = "block"
	busy    = "busy"
	cubic   = "cubic"
)

// The limits of the options.
const (
	maxMessage     = 1 << 20
	maxDatagram    = 65507 // the payload of an IPv4 datagram
	maxFlows       = 1024
	maxRate        = 10e6
	maxWait        = 60 // s
	maxOutstanding = 1 << 22
	maxDepth       = 4096
	numberedSize   = 8 // bytes, of a message that numbers its request in full
	// askSize is what asks for a read, or says that a write has come, in bytes: iSCSI's header (RFC 7143,
	// section 11.2).
	askSize = 48
)

var options = []result.Option{
	{Name: "protocol", Type: result.Word, Words: []string{overTCP, overUDP}, Default: overTCP, Says: "what carries requests and responses"},
	{Name: "message", Type: result.Size, Min: 1, Max: maxMessage, Says: "bytes of a request; absent: 1, or 8 over UDP at a rate, where requests need room for a number"},
	{Name: "response", Type: result.Size, Min: 1, Max: maxMessage, Says: "bytes of its response; absent: like message, or 48 with reads"},
	{Name: "reads", Type: result.Count, Min: 0, Max: 100, Says: "percent of the requests that read, as of storage: those have the size of response, and their answers that of message; the others write message and are answered by response. Over TCP"},
	{Name: "depth", Type: result.Count, Min: 1, Max: maxDepth, Default: int64(1), Says: "requests of a closed loop that are under way at once on each flow"},
	{Name: "rate", Type: result.PacketRate, Min: 0.1, Max: maxRate, Says: "transactions per second over all flows, in an open loop; absent: a closed loop, as netperf, whose latencies leave out what a stall would have cost others (coordinated omission)"},
	{Name: "arrivals", Type: result.Word, Words: []string{fixed, poisson}, Default: fixed, Beside: []string{"rate"}, Says: "when requests of an open loop are due: evenly, or at random with that mean"},
	{Name: "flows", Type: result.Count, Min: 1, Max: maxFlows, Default: int64(1), Says: "connections, or pairs of UDP ports; requests take them in turn"},
	{Name: "threads", Type: result.Count, Min: 1, Max: maxFlows, Default: int64(1), Says: "hot threads at each end; the flows are dealt to them in turn, so at most as many"},
	{Name: "poll", Type: result.Word, Words: []string{block, busy}, Default: block, Says: "sleep until something comes, or spin and use a whole CPU a thread (with SO_BUSY_POLL where the kernel has it)"},
	{Name: "wait", Type: result.Duration, Min: 0.001, Max: maxWait, Default: 1.0, Says: "for how long an answer is waited for"},
	{Name: "outstanding", Type: result.Count, Min: 1, Max: maxOutstanding, Default: int64(1 << 16), Beside: []string{"rate"}, Says: "requests without an answer at once over all flows of an open loop; more are refused and counted"},
	{Name: "congestion", Type: result.Word, Default: cubic, Says: "congestion control of TCP, set per socket where the system lets one (Linux, TCP_CONGESTION)"},
}

// Options are the keys that ping takes in a suite's traffic block.
func (Kind) Options() []result.Option { return append([]result.Option(nil), options...) }

// Check refuses options that do not fit each other.
func (Kind) Check(load result.Options) error {
	_, err := parseLoad(load)
	return err
}

// Lingers is for how long the last answer is waited for, of a request that may leave late; 0 for a load that Check refuses.
func (Kind) Lingers(load result.Options) time.Duration {
	l, err := parseLoad(load)
	if err != nil {
		return 0
	}
	return l.lateness() + l.wait
}

// Prepare makes a responder listen, or a sender of requests connect all its flows.
func (Kind) Prepare(ctx context.Context, order traffic.Order) (traffic.Worker, error) {
	l, err := parseLoad(order.Load)
	if err != nil {
		return nil, err
	}
	if err := l.supported(); err != nil {
		return nil, err
	}
	switch order.Role {
	case traffic.Receive:
		return listen(ctx, l, order)
	case traffic.Send:
		return connect(ctx, l, order)
	}
	return nil, fmt.Errorf("ping has no role %q: it is %q or %q", order.Role, traffic.Send, traffic.Receive)
}

// load is the options of one worker, typed.
type load struct {
	shape
	udp         bool
	rate        float64 // transactions per second; 0: a closed loop
	poisson     bool
	flows       int
	threads     int
	busy        bool
	wait        time.Duration // for an answer
	outstanding int           // over all flows; depth a flow in a closed loop
	depth       int           // of a closed loop, a flow
	congestion  string
}

func (l load) open() bool { return l.rate > 0 }

// lateness is how long after a trial's end requests may leave that were due before it. Each is waited for as long as any; what has had
// no turn by then never leaves.
func (l load) lateness() time.Duration { return l.wait / 2 }

// method names the loop in a result.
func (l load) method() (method, why string) {
	switch {
	case !l.open() && l.depth > 1:
		return "closed-loop", fmt.Sprintf("%d requests were under way on each flow, and each further one waited for an answer: what a stall would have cost others is left out (coordinated omission); a rate makes an open loop", l.depth)
	case !l.open():
		return "closed-loop", "each request waited for the answer before it, as netperf does: what a stall would have cost others is left out (coordinated omission); a rate makes an open loop"
	case l.poisson:
		return "open-loop-poisson", ""
	}
	return "open-loop-fixed", ""
}

func parseLoad(given result.Options) (load, error) {
	given, err := result.Fill(options, given)
	if err != nil {
		return load{}, err
	}
	l := load{
		udp:         given.Text("protocol") == overUDP,
		rate:        given.Float("rate"),
		poisson:     given.Text("arrivals") == poisson,
		flows:       int(given.Int("flows")),
		threads:     int(given.Int("threads")),
		busy:        given.Text("poll") == busy,
		wait:        time.Duration(given.Float("wait") * float64(time.Second)),
		outstanding: int(given.Int("outstanding")),
		congestion:  given.Text("congestion"),
		depth:       int(given.Int("depth")),
	}
	l.message, l.response = int(given.Int("message")), int(given.Int("response"))
	if _, l.mixed = given["reads"]; l.mixed {
		l.reads = uint64(given.Int("reads"))
	}
	return l.settled()
}

// mostAround bounds the response of a mix of reads and writes, which goes around a message's payload.
func mostAround[bytes int | uint32](message bytes) bytes { return max(message, askSize) }

// settled fills what depends on other options and refuses what does not fit.
func (l load) settled() (load, error) {
	if l.message == 0 {
		l.message = 1
		if l.udp && l.open() {
			l.message = numberedSize
		}
	}
	if l.response == 0 {
		l.response = l.message
		if l.mixed {
			l.response = askSize
		}
	}
	if !l.open() {
		l.outstanding = l.flows * l.depth
	}
	switch {
	case l.mixed && l.response > mostAround(l.message):
		return load{}, fmt.Errorf("a response of %d bytes beside reads: it is what asks for a read and what a write is answered by, which no figure counts; set it to at most %d", l.response, mostAround(l.message))
	case l.mixed && l.udp:
		return load{}, errors.New("reads and writes go over TCP, which keeps their order: set protocol to tcp, or leave reads out")
	case l.open() && l.depth > 1:
		return load{}, errors.New("depth is of a closed loop, and a rate makes an open one: leave out either; outstanding bounds an open loop")
	case l.udp && l.congestion != cubic && l.congestion != traffic.SystemCongestion: // as a suite has it of places that run already
		return load{}, fmt.Errorf("the congestion control %s is TCP's, and these requests go over UDP: leave congestion out, or set protocol to tcp", l.congestion)
	case l.udp && l.depth > 1:
		return load{}, errors.New("more than one request at once on a flow of UDP cannot be told apart in a closed loop: set flows instead of depth, or protocol to tcp")
	case l.threads > l.flows:
		return load{}, fmt.Errorf("%d threads for %d flows: a thread without a flow does nothing; set flows to at least %d", l.threads, l.flows, l.threads)
	case l.udp && max(l.message, l.response) > maxDatagram:
		return load{}, fmt.Errorf("a message of %d bytes fits in no UDP datagram: at most %d", max(l.message, l.response), maxDatagram)
	case l.udp && l.open() && min(l.message, l.response) < 4:
		return load{}, fmt.Errorf("%d bytes cannot tell the requests of an open loop over UDP apart: set message and response to at least 4", min(l.message, l.response))
	case l.outstanding < l.flows:
		return load{}, fmt.Errorf("%d outstanding requests for %d flows: set outstanding to at least %d", l.outstanding, l.flows, l.flows)
	case l.udp && l.rate*l.wait.Seconds() > maxOutstanding/2:
		return load{}, fmt.Errorf("%g requests per second, each waited for %s, are more than can be kept in mind: set wait to at most %.3f s", l.rate, l.wait, maxOutstanding/2/l.rate)
	}
	return l, nil
}
