// Package traffic is the interface of a load: what a kind of traffic (stream,
// datagram, ping, frame) offers to the agent that runs it. Each kind is one
// folder beside this file and one line in kinds/.
package traffic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"windtunnel/result"
)

// SystemCongestion leaves TCP the congestion control that the system gives it.
const SystemCongestion = "system"

// ErrNothing ends a receiver's trial: the path carries nothing, or the receiver had no CPU.
var ErrNothing = errors.New("nothing arrived in the window")

// Role is the end of a pair that a worker plays.
type Role string

// The two ends of a pair.
const (
	Send    Role = "send"
	Receive Role = "receive"
)

// Order is what one worker is asked to do.
type Order struct {
	Role    Role           `json:"role"`
	Kind    string         `json:"kind"`
	Load    result.Options `json:"load"`
	Address string         `json:"address"` // a receiver binds to this IP; a sender connects to this IP:port
	CPUs    []int          `json:"cpus"`    // its hot threads are pinned here, in turn
	// WarmUpSeconds and WindowSeconds are what the schedule will have, for a program of others,
	// which is told when it starts; 0: not known yet.
	WarmUpSeconds float64 `json:"warmup_seconds,omitempty"`
	WindowSeconds float64 `json:"window_seconds,omitempty"`
	// Port is the endpoint's port of poll mode; nil: it has an interface. The agent sets it.
	Port *Port `json:"port,omitempty"`
	// Keep says that an order like this one but for its rate follows: a worker that can be readied again
	// (Renewed) is kept for it.
	Keep bool `json:"keep,omitempty"`
}

// LongestQueue is for how much longer the ends of a test by hand wait for what is still under way: on a path whose queue holds seconds,
// what ends a test stands behind its traffic.
const LongestQueue = 10 * time.Second

// QueuedOn is the error of such a test where a queue holds some of it for longer than is waited for, so long after the window.
func QueuedOn(after time.Duration) error {
	return fmt.Errorf("a queue on the way still brought some of it %s after the window, and it is not waited for any longer: "+
		"send no more than the path carries (a lower rate), or for a shorter time", after.Round(time.Second))
}

// Schedule is when a worker runs: traffic flows from Start through WarmUp and
// Window; only the window is counted.
type Schedule struct {
	Start  time.Time
	WarmUp time.Duration
	Window time.Duration
	// Interval is the length of PairEnd.Intervals; 0: none are kept.
	Interval time.Duration
	// Alone: nobody reads other figures of the same window, so a sender need not go on after it.
	Alone bool
	// OneOff: a test by hand, whose CPU time nobody compares with another's, so that an end may spend more of it to carry more, and
	// which no other waits for, so that what is in a long queue may come: see LongestQueue.
	OneOff bool
	// Observe is told of each interval when it ends, from a cold goroutine; may be nil.
	Observe func(result.Interval)
}

// Kind is one kind of load.
type Kind interface {
	Name() string
	// Options are the keys it takes in a suite's traffic block.
	Options() []result.Option
	// Check refuses values that do not fit each other: what can
	// be told before anything is made.
	Check(load result.Options) error
	// Prepare makes a worker ready: a receiver listens, a sender has connected.
	// The context bounds the preparation only.
	Prepare(ctx context.Context, order Order) (Worker, error)
}

// Calibrator is a kind that can tell how fast its generator is by itself: the
// same load into a sink that costs as little as this machine allows, without the
// path under test. The rate is in the unit of result.Offered.CalibratedPerSecond.
type Calibrator interface {
	Calibrate(ctx context.Context, load result.Options, cpus []int) (perSecond float64, err error)
}

// Lingerer is a kind of whose workers a load may keep one for longer after its window than the few seconds that any takes: by how much.
type Lingerer interface {
	Lingers(load result.Options) time.Duration
}

// Worker is a prepared end of a pair. Run is called once, and once more after each Renew, then Close.
type Worker interface {
	// Address is the IP:port at which a sender reaches a receiver, "" for a sender.
	Address() string
	// Run blocks until the schedule is over, or ctx ends, and returns what this
	// end counted in the window. A peer that went away is PairEnd.Error beside
	// the counts, or an error if there are none.
	Run(ctx context.Context, when Schedule) (result.PairEnd, error)
	// Close frees sockets and threads; it may be called at any time, also
	// without Run.
	Close() error
}
