package command

import "windtunnel/traffic/iperf3"

func endTree(about iperf3.Start, e iperf3.End) *object {
	streams := []any{}
	way := directions(about)
	for _, sends := range way {
		_, own := sumEnd(e, sends)
		for _, s := range own {
			streams = append(streams, streamEndTree(about, s))
		}
	}
	o := (&object{}).add("streams", streams)
	for _, sends := range way {
		sum, _ := sumEnd(e, sends)
		if about.Test.Protocol == iperf3.UDP {
			addUDPSums(o, about, sum, sends)
		} else {
			addTCPSums(o, about, sum, sends)
		}
	}
	o.add("cpu_utilization_percent", (&object{}).
		add("host_total", e.Local.Total).add("host_user", e.Local.User).add("host_system", e.Local.System).
		add("remote_total", e.Remote.Total).add("remote_user", e.Remote.User).add("remote_system", e.Remote.System))
	if about.Test.Protocol == iperf3.UDP {
		return o
	}
	sender, receiver := congestion(about, e, way[len(way)-1])
	if sender != "" {
		o.add("sender_tcp_congestion", sender)
	}
	if receiver != "" {
		o.add("receiver_tcp_congestion", receiver)
	}
	return o
}

func sumSpan(s iperf3.Sum) *object {
	return span(&object{}, 0, s.Seconds, s.Seconds, s.Bytes, s.BitsPerSecond)
}

func streamEndTree(about iperf3.Start, s iperf3.StreamEnd) *object {
	if s.UDP != nil {
		return (&object{}).add("udp", udpEndTree(s))
	}
	sent := span((&object{}).add("socket", s.Socket), 0, s.Sent.Seconds, s.Sent.Seconds, s.Sent.Bytes, s.Sent.BitsPerSecond)
	if s.Sent.Retransmits >= 0 && tellsSender(about, s.Sender) {
		addTCPEnd(sent, s)
	}
	received := span((&object{}).add("socket", s.Socket), 0, s.Received.Seconds, s.Received.Seconds, s.Received.Bytes, s.Received.BitsPerSecond)
	return (&object{}).add(saysSender, sent.add("sender", s.Sender)).add(saysReceiver, received.add("sender", s.Sender))
}

// tellsSender: a server does not tell what its client's kernel counted.
func tellsSender(about iperf3.Start, sends bool) bool { return sends || !about.Server }

// addTCPEnd adds what a TCP sender's kernel told; where the peer is the sender,
// only the retransmits are known, and the rest is 0, as in iperf3.
func addTCPEnd(o *object, s iperf3.StreamEnd) {
	t := s.TCP
	if t == nil {
		t = &iperf3.TCPEnd{}
	}
	o.add("retransmits", s.Sent.Retransmits).add("reorder", t.Reorder).
		add("max_snd_cwnd", t.MaxCongestionWindow).add("max_snd_wnd", t.MaxSendWindow).
		add("max_rtt", t.MaxRTT).add("min_rtt", t.MinRTT).add("mean_rtt", t.MeanRTT)
}

func udpEndTree(s iperf3.StreamEnd) *object {
	u := s.UDP
	o := span((&object{}).add("socket", s.Socket), 0, s.Sent.Seconds, s.Sent.Seconds, s.Sent.Bytes, s.Sent.BitsPerSecond)
	addDatagrams(o, u.JitterSeconds, u.Lost, packetsOf(u), percent(u.Lost, packetsOf(u)))
	return o.add("out_of_order", u.OutOfOrder).add("sender", s.Sender)
}

// named is a sum's name: in a bidirectional test the server's direction has its own.
func named(name string, about iperf3.Start, sends bool) string {
	if fromServer(about, sends) {
		return name + "_bidir_reverse"
	}
	return name
}

func addTCPSums(o *object, about iperf3.Start, sum endSum, sends bool) {
	sent := sumSpan(sum.sent)
	if sum.sent.Retransmits >= 0 && tellsSender(about, sends) {
		sent.add("retransmits", sum.sent.Retransmits)
	}
	o.add(named("sum_sent", about, sends), sent.add("sender", sends))
	o.add(named("sum_received", about, sends), sumSpan(sum.received).add("sender", sends))
}

// addUDPSums adds the older sum, in which both ends are mixed, and one for each
// end. The sender of those two is theirs, not this end's.
func addUDPSums(o *object, about iperf3.Start, sum endSum, sends bool) {
	mixed := span(&object{}, 0, sum.received.Seconds, sum.received.Seconds, sum.sent.Bytes, sum.sent.BitsPerSecond)
	addDatagrams(mixed, sum.jitter, sum.lost, sum.packets, sum.lostPercent)
	o.add(named("sum", about, sends), mixed.add("sender", sends))
	o.add(named("sum_sent", about, sends), addDatagrams(sumSpan(sum.sent), 0, 0, sum.sentPackets, 0).add("sender", true))
	o.add(named("sum_received", about, sends), addDatagrams(sumSpan(sum.received), sum.jitter, sum.lost, sum.receivedPackets, sum.lostPercent).add("sender", false))
}
