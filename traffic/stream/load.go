package stream

import (
	"fmt"

	"windtunnel/result"
	"windtunnel/traffic"
)

// load is the options of one worker, typed.
type load struct {
	config     Config
	streams    int // in each direction
	direction  uint16
	buffer     int // bytes; 0: the kernel's tuning
	congestion string
	mss        int // bytes; 0: the path's
	dscp       int
}

var directions = map[string]uint16{"": forward, "forward": forward, "reverse": reverse, "both": both}

func parseLoad(given result.Options) (load, error) {
	for _, o := range options {
		if err := check(o, given); err != nil {
			return load{}, err
		}
	}
	l := load{
		config: Config{
			Message: int(count(given, "message")), Threads: int(count(given, "threads")),
			NoDelay: given.Bool("nodelay"), Copy: given.Text("copy"), Discard: given.Bool("discard"),
			BitsPerSecond: given.Float("rate"), Pacing: given.Text("pacing"), Burst: int(count(given, "burst")),
			FailTogether: true, // a trial in which a stream broke is no trial
		},
		streams:    int(count(given, "streams")),
		direction:  directions[given.Text("direction")],
		buffer:     int(count(given, "buffer")),
		congestion: given.Text("congestion"),
		mss:        int(count(given, "mss")),
		dscp:       int(count(given, "dscp")),
	}
	if l.congestion == "" {
		l.congestion = "cubic"
	}
	return l, l.agrees(given)
}

// agrees refuses options that do not go together, and those that this system
// does not have.
func (l load) agrees(given result.Options) error {
	c := l.config.filled()
	switch {
	case c.Threads > l.streams:
		return fmt.Errorf("%d threads for %d streams: a thread without a stream does nothing; set streams to at least %d", c.Threads, l.streams, c.Threads)
	case c.BitsPerSecond == 0 && (given["pacing"] != nil && c.Pacing != "" || given["burst"] != nil):
		return fmt.Errorf("pacing and burst say how a rate is kept, and there is none: set rate, or leave them out")
	case c.Burst > 0 && c.Pacing == PaceKernel:
		return fmt.Errorf("a burst of %d bytes is a bucket's depth, and the kernel's pacing chooses its own: leave burst out, or set pacing to %s", c.Burst, PaceBucket)
	}
	if err := c.check(); err != nil {
		return err
	}
	return l.available()
}

// check refuses a number outside of its option's bounds, and a word that is none
// of its option's.
func check(o result.Option, given result.Options) error {
	if given[o.Name] == nil {
		return nil
	}
	if v := given.Float(o.Name); o.Max != 0 && (v < o.Min || v > o.Max) {
		return fmt.Errorf("%s is %g, not within %g and %g", o.Name, v, o.Min, o.Max)
	}
	for _, word := range o.Words {
		if given.Text(o.Name) == word {
			return nil
		}
	}
	if len(o.Words) > 0 {
		return fmt.Errorf("%s is %q, none of %q", o.Name, given.Text(o.Name), o.Words)
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
