package command

import "windtunnel/traffic/iperf3"

// Interval shows what each stream did, and what all did.
func (t *text) Interval(i iperf3.Interval) {
	if negligible(i, t.start.Test.Interval.Seconds()) {
		return
	}
	t.headInterval(i)
	says := ""
	if i.Omitted {
		says = omitted
	}
	for _, sends := range directions(t.start) {
		sum, streams := sumInterval(i, sends)
		for _, s := range streams {
			t.printf("%s", intervalLine(t.row(socketID(s.Socket), sends, i.Start, i.End, s.Bytes, s.BitsPerSecond), s, says))
		}
		if t.start.Test.Parallel > 1 {
			t.printf("%s", t.sumLine(t.row(sumID, sends, i.Start, i.End, sum.bytes, sum.bitsPerSecond), sum, sends, says))
		}
	}
}

// headInterval writes the heading before the first interval, and a line between
// those of several streams.
func (t *text) headInterval(i iperf3.Interval) {
	if t.headed {
		if t.start.Test.Parallel > 1 {
			t.printf("%s", separator)
		}
		return
	}
	t.headed = true
	t.printf("%s", header(intervalColumns(t.start, i), t.start.Test.Bidirectional))
}

func intervalColumns(s iperf3.Start, i iperf3.Interval) string {
	if s.Test.Protocol == iperf3.UDP {
		if !s.Test.Bidirectional && directions(s)[0] {
			return headUDPSent
		}
		return headUDP
	}
	for _, stream := range i.Streams {
		if stream.TCP != nil {
			return headCwnd
		}
	}
	return headPlain
}

func intervalLine(r row, s iperf3.StreamInterval, says string) string {
	switch {
	case s.UDP != nil && s.Sender:
		return r.datagramsSent(s.UDP.Packets, says)
	case s.UDP != nil:
		return r.datagrams(s.UDP.JitterSeconds, s.UDP.Lost, s.UDP.Packets, percent(s.UDP.Lost, s.UDP.Packets), says)
	case s.TCP != nil:
		return r.window(s.TCP.Retransmits, s.TCP.CongestionWindow, says)
	}
	return r.plain(says)
}

func (t *text) sumLine(r row, sum intervalSum, sends bool, says string) string {
	switch {
	case t.start.Test.Protocol == iperf3.UDP && sends:
		return r.datagramsSent(sum.packets, says)
	case t.start.Test.Protocol == iperf3.UDP:
		return r.datagrams(sum.jitter, sum.lost, sum.packets, percent(sum.lost, sum.packets), says)
	case sum.hasRetr:
		return r.retransmits(sum.retransmits, says)
	}
	return r.plain(says)
}
