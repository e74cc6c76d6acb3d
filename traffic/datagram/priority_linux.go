package datagram

import "windtunnel/traffic"

const (
	// raisedNice is the nice value of a receiving thread that is not to be interrupted. 5 less than the stack's thread
	// has was too little on an AMD EPYC, 10 as good as 19.
	raisedNice = -10
	// fewTogether are the datagrams a message below which, in the mean, they are taken to come one by one. The kernel joins some
	// of what waits for a busy stack in any case, 3 to 5; what a sender's segmentation cut comes as 20 and more.
	fewTogether = 8
)

// priority is the one of a receiving thread.
//
// Where datagrams come one by one, and the stack's thread (NAPI's, or the one for softirqs) works on the receiver's own
// CPU, each datagram may wake either of the two, which takes the CPU from the other: the scheduler gives it to whoever
// has slept. The sender's CPU pays for it, since it has to interrupt this one. A receiver that stays until its socket
// is empty lets the next datagrams come to a stack that is awake, and together. Where aggregates come it is
// the other way round: a stack that is not interrupted makes longer ones. And a sender on this very host has no such
// thread: if it shares the receiver's CPU, that one would only take it from the sender.
//
// Where the scheduler groups a session's threads (autogroup) or a cgroup's, a nice value counts within the group, and
// the stack's thread is outside: most of the gain is lost (sched(7)).
//
// In real time no group counts. It is for a thread that polls, since it was asked to or more came so in the warm-up (pollTrial), as
// it keeps everything else from that CPU but for the stack's interrupts, until its socket has been empty for pollNS.
type priority struct {
	given    int // nice value
	raised   bool
	realTime bool
}

// decide raises the calling thread's priority, by a nice value or to real time, or gives it back. Without the right to it
// (CAP_SYS_NICE, RLIMIT_NICE, RLIMIT_RTPRIO) it stays what it is.
func (p *priority) decide(raise, realTime bool) {
	if p.realTime && !(raise && realTime) {
		p.realTime = traffic.SetThreadRealTime(false) != nil
	}
	switch {
	case raise && !p.raised:
		given, err := traffic.ThreadNice()
		p.given, p.raised = given, err == nil && given > raisedNice && traffic.SetThreadNice(raisedNice) == nil
	case !raise && p.raised:
		p.raised = traffic.SetThreadNice(p.given) != nil
	}
	if raise && realTime && !p.realTime {
		p.realTime = traffic.SetThreadRealTime(true) == nil
	}
}

// few tells whether the messages since the last decision brought few datagrams of so many bytes each.
func (d *doze) few(message int) bool { return d.bytes < fewTogether*message*d.came }
