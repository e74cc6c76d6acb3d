package command

import "windtunnel/traffic/iperf3"

// directions are the groups in which streams are shown: those that this end
// sends on, or receives on. A bidirectional test has both, and begins with what
// the client sends.
func directions(s iperf3.Start) []bool {
	if s.Test.Bidirectional {
		return []bool{!s.Server, s.Server}
	}
	return []bool{s.Server == s.Test.Reverse}
}

// fromServer tells whether a direction is the one from server to client, whose
// sums have names of their own in a bidirectional test.
func fromServer(s iperf3.Start, sends bool) bool {
	return s.Test.Bidirectional && sends == s.Server
}

// negligible tells of the rest at a test's end, in which nothing happened:
// shorter than a tenth of an interval.
func negligible(i iperf3.Interval, length float64) bool {
	const tenth = 0.1
	if i.Seconds >= tenth*length {
		return false
	}
	for _, s := range i.Streams {
		if s.Bytes > 0 {
			return false
		}
	}
	return true
}

// intervalSum adds up the streams of one direction in an interval.
type intervalSum struct {
	streams       int
	bytes         uint64
	bitsPerSecond float64
	retransmits   int64
	hasRetr       bool
	packets, lost int64
	jitter        float64 // seconds, mean
}

func sumInterval(i iperf3.Interval, sends bool) (sum intervalSum, streams []iperf3.StreamInterval) {
	for _, s := range i.Streams {
		if s.Sender != sends {
			continue
		}
		streams = append(streams, s)
		sum.bytes += s.Bytes
		if s.TCP != nil {
			sum.retransmits += s.TCP.Retransmits
			sum.hasRetr = true
		}
		if s.UDP != nil {
			sum.packets += s.UDP.Packets
			sum.lost += s.UDP.Lost
			sum.jitter += s.UDP.JitterSeconds
		}
	}
	if sum.streams = len(streams); sum.streams > 0 {
		sum.jitter /= float64(sum.streams)
	}
	if i.Seconds > 0 {
		sum.bitsPerSecond = float64(sum.bytes) * 8 / i.Seconds
	}
	return sum, streams
}

// endSum adds up the streams of one direction over a test. The times are those
// of the first stream, as in iperf3.
type endSum struct {
	sent, received               iperf3.Sum // Retransmits: -1 where no stream knows
	sentPackets, receivedPackets int64
	packets                      int64 // sent, or received where that is unknown
	lost                         int64
	lostPercent                  float64 // of packets
	jitter                       float64 // seconds, mean
}

func sumEnd(e iperf3.End, sends bool) (sum endSum, streams []iperf3.StreamEnd) {
	sum.sent.Retransmits = -1
	for _, s := range e.Streams {
		if s.Sender != sends {
			continue
		}
		streams = append(streams, s)
		sum.sent.Bytes += s.Sent.Bytes
		sum.received.Bytes += s.Received.Bytes
		if s.Sent.Retransmits >= 0 {
			sum.sent.Retransmits = max(sum.sent.Retransmits, 0) + s.Sent.Retransmits
		}
		if s.UDP != nil {
			sum.sentPackets += s.UDP.SentPackets
			sum.receivedPackets += s.UDP.ReceivedPackets
			sum.packets += packetsOf(s.UDP)
			sum.lost += s.UDP.Lost
			sum.jitter += s.UDP.JitterSeconds
		}
	}
	if len(streams) == 0 {
		return sum, nil
	}
	sum.jitter /= float64(len(streams))
	sum.sent.Seconds, sum.received.Seconds = streams[0].Sent.Seconds, streams[0].Received.Seconds
	sum.sent.BitsPerSecond, sum.received.BitsPerSecond = rateOf(sum.sent), rateOf(sum.received)
	sum.lostPercent = percent(sum.lost, sum.packets)
	return sum, streams
}

// packetsOf is how many datagrams a stream is said to have had: by its sender,
// or where that is unknown by its receiver.
func packetsOf(u *iperf3.UDPEnd) int64 {
	if u.SentPackets > 0 {
		return u.SentPackets
	}
	return u.ReceivedPackets
}

func rateOf(s iperf3.Sum) float64 {
	if s.Seconds <= 0 {
		return 0
	}
	return float64(s.Bytes) * 8 / s.Seconds
}
