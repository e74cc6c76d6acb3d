package datagram

import (
	"time"

	"golang.org/x/sys/unix"
)

// swiftCall is up to which mean time of a thread's calls, with their waits, it makes them without the Go runtime's
// knowledge.
//
// The runtime takes a thread that it knows to be in a call for one that may stay there, and its monitor takes the P from
// it, each time: a locked goroutine never counts as scheduled anew (retake in Go's runtime/proc.go). Having found one to
// take, the monitor looks again every 20 us, on the thread's CPU where the process is bound to that: some thousand
// wake-ups a second, 3 to 15 % of either CPU on an AMD EPYC. What the runtime does not know of holds up whoever stops the
// world, which a call that ends soon may. One that turns out to wait for long does so once, for patience.
const swiftCall = time.Millisecond

// swift is whether a thread's calls end soon, decided anew each burstNS by those that went before.
type swift struct {
	is    bool
	calls int64
	since int64 // ns of the engine's clock
}

// ended takes note of a call that has ended now and brought something.
func (s *swift) ended(now int64) {
	s.calls++
	if took := now - s.since; took >= burstNS {
		*s = swift{is: took <= s.calls*swiftCall.Nanoseconds(), since: now}
	}
}

// waited takes note of a call that has brought nothing.
func (s *swift) waited(now int64) { *s = swift{since: now} }

// isRaw tells whether a receiving call is to be made without the runtime's knowledge: one that does not wait is, too.
func (s *swift) isRaw(flags uintptr) bool { return s.is || flags&unix.MSG_DONTWAIT != 0 }
