package iperf3

import (
	"fmt"

	"windtunnel/result"
)

// acknowledged is what the other end's system had of what this end sends when the test ended, in bytes, since what is omitted ended; 0
// where this end's does not tell. What had been sent before that and not acknowledged is in neither.
func (t *tally) acknowledged(now reading) (bytes uint64) {
	for i, s := range t.streams {
		if !s.sender {
			continue
		}
		if now.streams[i].tcp == nil || t.test.Protocol == UDP {
			return 0
		}
		bytes += now.streams[i].bytes - t.base.streams[i].bytes
	}
	return bytes - min(bytes, t.unacked)
}

// unreadLeast is the share of what was acknowledged from which on it is a receiver's limit that it did not count it, where no rate was asked for.
const unreadLeast = 0.1

// unread says that the other end's program was the limit, as what had come to its system was not counted by the end: it lay in the
// sockets of a program that was stopped, whose window stays open for as long as their buffers have room. Nothing else shows that, as the
// path had something to carry all the time. A receiver of iperf3 counts whole blocks, and ends its count by its own clock.
func (t *tally) unread(e End, now reading) (says string) {
	sender, sends := e.figures(true, true)
	receiver, _ := e.figures(true, false)
	acked := float64(t.acknowledged(now))
	if !sends || acked == 0 || sender.WindowSeconds <= 0 || receiver.WindowSeconds <= 0 {
		return ""
	}
	came := acked * min(1, receiver.WindowSeconds/sender.WindowSeconds)
	lies := came - float64(receiver.Bytes) - float64(t.test.Length)*float64(t.test.Parallel)
	least := unreadLeast
	if target := t.way(e, now, true, untold{threads: 1}).Sender.Offered.TargetBitsPerSecond; target > 0 {
		least = max(0, 1-rate(receiver.Bytes, receiver.WindowSeconds)/target) / 2
	}
	share := lies / acked
	if share <= 0 || share < least {
		return ""
	}
	return fmt.Sprintf("%.0f %% of what the receiver's system had acknowledged was not read when it ended: its program was stopped, or too slow", 100*share)
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
