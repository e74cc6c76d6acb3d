package iperf3

import (
	"fmt"

	"windtunnel/result"
)

// String says what a test is in a few words: "tcp, 4 streams, reverse".
func (t Test) String() string {
	says := string(t.Protocol) + ", 1 stream"
	if t.Parallel != 1 {
		says = fmt.Sprintf("%s, %d streams", t.Protocol, t.Parallel)
	}
	switch {
	case t.Bidirectional:
		return says + " each way"
	case t.Reverse:
		return says + ", reverse"
	}
	return says
}

// sum is an interval of all streams, in both directions, in Windtunnel's terms.
func (v Interval) sum() result.Interval {
	sum := result.Interval{From: v.Start, To: v.End}
	for _, s := range v.Streams {
		sum.Bytes += s.Bytes
		if s.TCP != nil {
			sum.Retransmits += uint64(max(0, s.TCP.Retransmits))
		}
		if s.UDP != nil && s.UDP.True != nil {
			sum.Packets += s.UDP.True.Received
			sum.Lost += s.UDP.True.Lost
		} else if s.UDP != nil {
			sum.Packets += uint64(max(0, s.UDP.Packets))
		}
	}
	return sum
}

// pair is this end's result in Windtunnel's terms: what it received, and in a
// bidirectional test what it sent as the opposite; or what it sent.
func (e End) pair(s Start) result.PairEnd {
	received, receives := e.figures(false, false)
	sent, sends := e.figures(true, true)
	e.work.sent(&sent, s.Test)
	sent.Offered.Lag = e.Lag
	if !receives {
		return sent
	}
	e.work.received(&received)
	received.Arrived = e.arrived()
	if sends {
		received.Opposite = &sent
	}
	return received
}

// sent puts in what those did that sent.
func (w work) sent(end *result.PairEnd, t Test) {
	threadsOf(w.send).put(end)
	end.Calls = w.sendCalls
	end.Offered = &result.Offered{BurstPackets: t.Burst, WaitSeconds: w.send.Wait.Seconds()}
	if t.BitsPerSecond > 0 {
		missed := w.lacks.missed.Seconds()
		end.Offered.TargetBitsPerSecond, end.Offered.MissedSeconds, end.Offered.HeldSeconds = t.BitsPerSecond*float64(t.Parallel), &missed, w.lacks.held.Seconds()
	}
	if w.away > 0 {
		end.Offered.AwaySeconds, end.Offered.AwayWhy = w.away.Seconds(), w.awayWhy.Error()
	}
}

// received puts in what those did that received.
func (w work) received(end *result.PairEnd) {
	threadsOf(w.receive).put(end)
	end.Calls, end.Waited = w.receiveCalls, &result.Wait{Seconds: w.receive.Wait.Seconds()}
}

// figures sums those of the streams that this end sends, or receives, by their sender or their receiver. Of
// datagrams that the other end received iperf3's arithmetic has no true number.
func (e End) figures(sends, bySender bool) (p result.PairEnd, any bool) {
	for _, s := range e.Streams {
		if s.Sender != sends {
			continue
		}
		any = true
		sum := s.Received
		if bySender {
			sum = s.Sent
		}
		p.WindowSeconds = max(p.WindowSeconds, sum.Seconds)
		p.Bytes += sum.Bytes
		switch {
		case s.UDP != nil && !bySender && s.UDP.True != nil:
			p.Packets += s.UDP.True.Received
		case s.UDP != nil && bySender:
			p.Packets += uint64(max(0, s.UDP.SentPackets))
		}
		if s.UDP == nil || bySender { // datagrams wait for no receiver: what it missed is Arrived's
			p.StoodSeconds = e.stood(sends == bySender, p.WindowSeconds)
		}
	}
	return p, any
}

// stood is for how much of a window this end stood still, or the other one, in seconds.
func (e End) stood(here bool, window float64) float64 {
	if here {
		return min(e.Stood.Seconds(), window)
	}
	return min(e.RemoteStood.Seconds(), window)
}

// arrived is nil without UDP streams that this end received.
func (e End) arrived() *result.Arrived {
	var a *result.Arrived
	for _, s := range e.Streams {
		if s.UDP == nil || s.UDP.True == nil {
			continue
		}
		if a == nil {
			a = &result.Arrived{}
		}
		t := s.UDP.True
		a.Flows++
		a.StoodSeconds = e.stood(true, s.Received.Seconds)
		a.Expected += t.Received + t.Lost + t.Late
		a.Lost += t.Lost
		a.Late += t.Late
		a.Reordered += t.Reordered
		a.Duplicate += t.Duplicate
		a.Corrupt += t.Corrupt
		a.SocketDrops += t.SocketDrops
		a.Jitter += s.UDP.JitterSeconds
	}
	if a != nil {
		a.Jitter /= float64(a.Flows)
	}
	return a
}
