package iperf3

import (
	"fmt"
	"time"

	"windtunnel/result"
)

// acked is what the other end's system had acknowledged of TCP by a moment.
type acked struct {
	at    time.Time
	bytes uint64 // since the start
}

// noteAcked looks at that.
func (t *trial) noteAcked() {
	if t.test.Protocol == UDP {
		return
	}
	r, queued := t.mover.glance(), t.mover.queued()
	sent, _ := t.tally.directions(func(i int) uint64 { return r.streams[i].bytes })
	t.tally.acked = acked{r.at, sent - min(sent, queued)}
}

// acknowledged is how much that was since what is omitted ended, and by how much of that time the other end's count, which took so
// long, may have been over before; 0 where the system does not tell. What was under way when that ended is in neither end's figures of it.
func (t *tally) acknowledged(now reading, counted float64) (bytes, seconds float64) {
	seconds = t.acked.at.Sub(t.base.at).Seconds()
	if seconds <= 0 {
		return 0, 0
	}
	before := uint64(0)
	for i, s := range t.streams {
		if s.sender && now.streams[i].tcp == nil {
			return 0, 0
		}
		if s.sender {
			before += t.base.streams[i].bytes
		}
	}
	return float64(t.acked.bytes-min(t.acked.bytes, before)) * min(1, counted/seconds), seconds
}

// unreadLeast is the share of what was acknowledged from which on it is a receiver's limit that it was not counted, where no rate was asked for.
const unreadLeast = 0.1

// unread says that the other end's program was the limit, as what had come to its system was not counted by the end: it lay in the
// sockets of a program that was stopped, whose window stays open for as long as their buffers have room. Nothing else shows that, as the
// path had something to carry all the time. A receiver of iperf3 counts whole blocks, and ends its count by its own clock.
func (t *tally) unread(e End, now reading) (says string) {
	receiver, sends := e.figures(true, false)
	if !sends {
		return ""
	}
	came, seconds := t.acknowledged(now, receiver.WindowSeconds)
	lies := came - float64(receiver.Bytes) - float64(t.test.Length)*float64(t.test.Parallel)
	least := unreadLeast
	if target := t.way(e, now, true, untold{threads: 1}).Sender.Offered.TargetBitsPerSecond; target > 0 {
		least = max(0, 1-rate(receiver.Bytes, receiver.WindowSeconds)/target) / 2
	}
	if lies <= 0 || lies < least*came || lies/came*seconds < stallLeast.Seconds() {
		return ""
	}
	return fmt.Sprintf("%.0f %% of what the receiver's system had acknowledged was not read when it ended: its program was stopped, or too slow", 100*lies/came)
}

// orUnread is a verdict on what this end sends, alone or beside what comes back, unless it is that.
func (t *tally) orUnread(e End, now reading, limit result.Limit) result.Limit {
	if limit.Verdict == result.RateReached || limit.Verdict == result.ReceiverLimited {
		return limit
	}
	if says := t.unread(e, now); says != "" {
		return result.Limit{Verdict: result.ReceiverLimited, Says: says}
	}
	return limit
}

// idleLeast is the share of the time from which on a sender that had nothing left to send shows no path's rate.
const idleLeast = 0.1

// orSpent is a path's verdict on what this end, a server, sends, unless that was all that a limit asked for and had come long before the other end
// ended the test, as clients of iperf3 3.21 do that look once a second.
func (t *tally) orSpent(e End, now reading, limit result.Limit) result.Limit {
	sender, sends := e.figures(true, true)
	if limit.Verdict != result.PathLimited || !sends || !t.test.Reverse || t.test.limits(true) == (limits{}) || sender.Bytes < t.test.volume() {
		return limit
	}
	busiest := 0.0
	for _, c := range t.own(now).Connections {
		busiest = max(busiest, c.Busy)
	}
	if busiest == 0 || busiest > (1-idleLeast)*sender.WindowSeconds {
		return limit
	}
	return result.Limit{Says: fmt.Sprintf("no verdict: all that was asked for was sent, for which the connections had something to carry for %.3g s, and the client ended the test after %.3g s", busiest, sender.WindowSeconds)}
}
