// Package oneoff is traffic by hand: a receiver that can be left running, and
// senders that come to it, measure once and print what both ends saw. The two
// speak the protocol of PROTOCOL.md over one TCP connection; the traffic itself
// is a kind's own. The same receiver answers the tools of other projects.
package oneoff

import (
	"fmt"
	"math"
	"time"
)

// DefaultPort is where a receiver listens for senders: one of 5210 to 5214, which
// the registry of port numbers leaves unassigned (RFC 6335, section 8.1.2), next
// to iperf3's 5201, whose second servers people put on 5202 and up.
const DefaultPort = 5210

// The bounds of a measurement's times.
const (
	minWindow   = 100 * time.Millisecond
	maxWindow   = 24 * time.Hour
	maxWarmUp   = time.Hour
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

// times are how long a measurement takes.
type times struct{ warmUp, window, interval time.Duration }

func (t times) check() error {
	switch {
	case t.window < minWindow || t.window > maxWindow:
		return fmt.Errorf("a time of %s is not within %s and %s", t.window, minWindow, maxWindow)
	case t.warmUp < 0 || t.warmUp > maxWarmUp:
		return fmt.Errorf("a warm-up of %s is not within 0 s and %s", t.warmUp, maxWarmUp)
	case t.interval != 0 && (t.interval < minInterval || t.interval > maxInterval):
		return fmt.Errorf("an interval of %s is not within %s and %s, nor 0 for none", t.interval, minInterval, maxInterval)
	}
	return nil
}

// seconds turns a peer's number into a time, and a number that is none into a
// time that check refuses.
func seconds(s float64) time.Duration {
	if !(s >= 0 && s <= (2*maxWindow).Seconds()) {
		return -1
	}
	return time.Duration(math.Round(s * float64(time.Second))) // 1.001 s is a product below 1,001,000,000
}
