package command

import (
	"encoding/json"
	"math"

	"windtunnel/traffic/iperf3"
)

// startBefore is start while there is no connection yet, or what begins it.
func startBefore(connections []iperf3.Connection) *object {
	connected := []any{}
	for _, c := range connections {
		connected = append(connected, (&object{}).add("socket", c.Socket).
			add("local_host", ip(c.Local)).add("local_port", int(c.Local.Port())).
			add("remote_host", ip(c.Remote)).add("remote_port", int(c.Remote.Port())))
	}
	return (&object{}).add("connected", connected).add("version", version).add("system_info", systemInfo())
}

// startTree is D12's start, in the order in which iperf3 comes to know things: a
// server knows a rate that is asked for, and of TCP its sockets' buffers, before
// everything else.
func startTree(s iperf3.Start) *object {
	o := startBefore(s.Connections)
	udp := s.Test.Protocol == iperf3.UDP
	early := s.Server && s.Test.BitsPerSecond > 0
	if early {
		o.add("target_bitrate", s.Test.BitsPerSecond)
	}
	if s.Server && !udp {
		addBuffers(o, s)
	}
	addAsked(o, s, !early)
	if !s.Server || udp {
		addBuffers(o, s)
	}
	return o.add("test_start", testTree(s.Test))
}

// addAsked adds who asked whom, which a client knows of a test that the server refuses, too.
func addAsked(o *object, s iperf3.Start, rate bool) *object {
	o.add("timestamp", (&object{}).add("time", s.Time.UTC().Format(rfc1123)).add("timesecs", s.Time.Unix()).add("timemillisecs", s.Time.UnixMilli()))
	peer := "connecting_to"
	if s.Server {
		peer = "accepted_connection"
	}
	o.add(peer, (&object{}).add("host", s.Host).add("port", s.Port)).add("cookie", s.Cookie)
	switch {
	case s.Test.Protocol == iperf3.UDP:
	case s.Test.MSS > 0:
		o.add("tcp_mss", s.Test.MSS)
	default:
		o.add("tcp_mss_default", s.ControlMSS)
	}
	if rate {
		o.add("target_bitrate", s.Test.BitsPerSecond)
	}
	return o.add("fq_rate", s.Test.FQRate)
}

func addBuffers(o *object, s iperf3.Start) {
	o.add("sock_bufsize", s.Test.Window).add("sndbuf_actual", s.SendBufferActual).add("rcvbuf_actual", s.ReceiveBufferActual)
}

func testTree(t iperf3.Test) *object {
	return (&object{}).add("protocol", protocolName(t.Protocol)).add("num_streams", t.Parallel).add("blksize", t.Length).
		add("omit", int(t.Omit.Seconds())).add("duration", int(t.Duration.Seconds())).add("bytes", t.Bytes).add("blocks", t.Blocks).
		add("reverse", flagged(t.Reverse)).add("tos", t.TOS).add("target_bitrate", t.BitsPerSecond).add("bidir", flagged(t.Bidirectional)).
		add("fqrate", t.FQRate).add("interval", max(t.Interval, 0).Seconds()).add("gso", flagged(t.GSO)).add("gro", flagged(t.GRO))
}

func flagged(on bool) int {
	if on {
		return 1
	}
	return 0
}

// span is how all figures of a time begin. Times are to the microsecond, as iperf3's.
func span(o *object, start, end, seconds float64, bytes uint64, rate float64) *object {
	return o.add("start", toMicrosecond(start)).add("end", toMicrosecond(end)).add("seconds", toMicrosecond(seconds)).
		add("bytes", bytes).add("bits_per_second", rate)
}

func toMicrosecond(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }

func intervalTree(about iperf3.Start, i iperf3.Interval) *object {
	streams := []any{}
	o := &object{}
	for _, sends := range directions(about) {
		_, own := sumInterval(i, sends)
		for _, s := range own {
			streams = append(streams, streamIntervalTree(i, s))
		}
	}
	o.add("streams", streams)
	for _, sends := range directions(about) {
		name := "sum"
		if fromServer(about, sends) {
			name = "sum_bidir_reverse"
		}
		o.add(name, sumIntervalTree(about, i, sends))
	}
	return o
}

func streamIntervalTree(i iperf3.Interval, s iperf3.StreamInterval) *object {
	o := span((&object{}).add("socket", s.Socket), i.Start, i.End, i.Seconds, s.Bytes, s.BitsPerSecond)
	switch {
	case s.UDP != nil && s.Sender:
		o.add("packets", s.UDP.Packets)
	case s.UDP != nil:
		addDatagrams(o, s.UDP.JitterSeconds, s.UDP.Lost, s.UDP.Packets, percent(s.UDP.Lost, s.UDP.Packets))
	case s.TCP != nil:
		t := s.TCP
		o.add("retransmits", t.Retransmits).add("snd_cwnd", t.CongestionWindow).add("snd_wnd", t.SendWindow).
			add("rtt", t.RTT).add("rttvar", t.RTTVar).add("pmtu", t.PMTU).add("reorder", t.Reorder)
	}
	return o.add("omitted", i.Omitted).add("sender", s.Sender)
}

func addDatagrams(o *object, jitterSeconds float64, lost, packets int64, lostPercent float64) *object {
	return o.add("jitter_ms", jitterSeconds*1000).add("lost_packets", lost).add("packets", packets).add("lost_percent", lostPercent)
}

func sumIntervalTree(about iperf3.Start, i iperf3.Interval, sends bool) *object {
	sum, _ := sumInterval(i, sends)
	o := span(&object{}, i.Start, i.End, i.Seconds, sum.bytes, sum.bitsPerSecond)
	switch {
	case about.Test.Protocol == iperf3.UDP && sends:
		o.add("packets", sum.packets)
	case about.Test.Protocol == iperf3.UDP:
		addDatagrams(o, sum.jitter, sum.lost, sum.packets, percent(sum.lost, sum.packets))
	case sum.hasRetr:
		o.add("retransmits", sum.retransmits)
	}
	return o.add("omitted", i.Omitted).add("sender", sends)
}

// prettyJSON lays out a peer's JSON as ours; what is none stays as it is.
func prettyJSON(text json.RawMessage) string {
	tree, err := parseTree(text)
	if err != nil {
		return string(text)
	}
	return pretty(tree)
}
