package stream

import (
	"cmp"
	"fmt"

	"windtunnel/result"
	"windtunnel/traffic"
)

// load is the options of one worker, typed.
type load struct {
	config     Config
	streams    int // in each direction
	direction  uint16
	sendBuffer int // bytes; 0: the kernel's tuning
	recvBuffer int // likewise
	congestion string
	mss        int // bytes; 0: the path's
	dscp       int
}

var directions = map[string]uint16{"forward": forward, "reverse": reverse, "both": both}

func parseLoad(given result.Options) (load, error) {
	given, err := result.Fill(options, given)
	if err != nil {
		return load{}, err
	}
	l := load{
		config: Config{
			Message: int(given.Int("message")), Threads: int(given.Int("threads")),
			NoDelay: given.Bool("nodelay"), Copy: given.Text("copy"), Discard: given.Bool("discard"),
			BitsPerSecond: given.Float("rate"), Pacing: given.Text("pacing"), Burst: int(given.Int("burst")),
			FailTogether: true, // a trial in which a stream broke is no trial
		},
		streams:    int(given.Int("streams")),
		direction:  directions[given.Text("direction")],
		sendBuffer: int(given.Int("buffer")),
		recvBuffer: int(cmp.Or(given.Int("receive-buffer"), given.Int("buffer"))),
		congestion: given.Text("congestion"),
		mss:        int(given.Int("mss")),
		dscp:       int(given.Int("dscp")),
	}
	if err := l.agrees(); err != nil {
		return l, err
	}
	if l.config.Burst > 0 && l.config.Pacing == PaceAuto { // a depth is a bucket's: the kernel's bursts are its own
		l.config.Pacing = PaceBucket
	}
	return l, nil
}

// longestMessage is for how long, in seconds, a message may leave that the kernel paces: two wait ahead, and after a
// second without a call a thread passes for one whose peer has stalled.
const longestMessage = 0.4

// agrees refuses options that do not go together, and those that this system
// does not have.
func (l load) agrees() error {
	c := l.config.filled()
	switch {
	case c.Threads > l.streams:
		return fmt.Errorf("%d threads for %d streams: a thread without a stream does nothing; set streams to at least %d", c.Threads, l.streams, c.Threads)
	case c.BitsPerSecond == 0 && (c.Pacing != "" || c.Burst > 0):
		return fmt.Errorf("pacing and burst say how a rate is kept, and there is none: set rate, or leave them out")
	case c.Burst > 0 && c.Pacing == PaceKernel:
		return fmt.Errorf("a burst of %d bytes is a bucket's depth, and the kernel's pacing chooses its own: leave burst out, or set pacing to %s", c.Burst, PaceBucket)
	case c.Pacing == PaceKernel && 8*float64(c.Message)/c.BitsPerSecond > longestMessage:
		return fmt.Errorf("the kernel takes whole messages, and one of %d bytes leaves for %.2g s at %g bit/s: take a message of at most %d bytes, or pacing %s, which hands over pieces", c.Message, 8*float64(c.Message)/c.BitsPerSecond, c.BitsPerSecond, int(longestMessage*c.BitsPerSecond/8), PaceBucket)
	}
	if err := c.check(); err != nil {
		return err
	}
	return l.available()
}

// connections is how many a session has.
func (l load) connections() int {
	if l.direction == both {
		return 2 * l.streams
	}
	return l.streams
}

// roleOf is what the end of that role does with the i-th connection.
func (l load) roleOf(i int, end traffic.Role) traffic.Role {
	turned := l.direction == reverse || l.direction == both && i >= l.streams
	if turned == (end == traffic.Send) {
		return traffic.Receive
	}
	return traffic.Send
}

// mainRole is what an end does first of all: what its PairEnd counts.
func (l load) mainRole(end traffic.Role) traffic.Role { return l.roleOf(0, end) }
