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
	received, receives := e.direction(false)
	sent, sends := e.direction(true)
	if receives {
		received.Arrived = e.arrived()
		if sends {
			received.Opposite = &sent
		}
		return received
	}
	if s.Test.BitsPerSecond > 0 {
		sent.Offered = &result.Offered{TargetBitsPerSecond: s.Test.BitsPerSecond * float64(s.Test.Parallel), BurstPackets: s.Test.Burst, Lag: e.Lag}
	}
	return sent
}

// direction sums this end's own figures of the streams that it sends, or receives.
func (e End) direction(sender bool) (p result.PairEnd, any bool) {
	for _, s := range e.Streams {
		if s.Sender != sender {
			continue
		}
		any = true
		mine := s.Received
		if sender {
			mine = s.Sent
		}
		p.WindowSeconds = max(p.WindowSeconds, mine.Seconds)
		p.Bytes += mine.Bytes
		switch {
		case s.UDP != nil && s.UDP.True != nil:
			p.Packets += s.UDP.True.Received
		case s.UDP != nil:
			p.Packets += uint64(max(0, s.UDP.SentPackets))
		}
	}
	return p, any
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
