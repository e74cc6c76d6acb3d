package command

import (
	"fmt"

	"windtunnel/result"
	"windtunnel/traffic/iperf3"
)

// Ended shows the whole test, by the sender's figures and by the receiver's.
func (t *text) Ended(e iperf3.End) {
	t.printf("%s", separator)
	if t.output.verbose {
		t.printf("Test Complete. Summary Results:\n")
	}
	t.printf("%s", header(endColumns(t.start, e), t.start.Test.Bidirectional))
	for _, sends := range directions(t.start) {
		t.direction(e, sends)
	}
	t.serverSaid(e)
	if t.start.Server {
		t.beside(e)
	}
}

// serverSaid shows the server's output, which the client asked for.
func (t *text) serverSaid(e iperf3.End) {
	switch {
	case t.start.Server:
	case len(e.ServerOutputJSON) > 0:
		t.printf("\nServer JSON output:\n%s\n\n", fit(prettyJSON(e.ServerOutputJSON)))
	case e.ServerOutputText != "":
		t.printf("\nServer output:\n%s\n\n", fit(e.ServerOutputText))
	}
}

// done is a client's last word.
func (t *text) done(e iperf3.End) {
	t.printf("\n")
	t.printf("iperf Done.\n")
	t.beside(e)
}

// beside writes what iperf3 does not count, apart from its own lines.
func (t *text) beside(e iperf3.End) {
	if t.output.plain {
		return
	}
	for _, line := range truthLines(e) {
		t.printf("%s", line)
	}
	if e.CPUShared && t.output.verbose {
		t.printf("Windtunnel: the local CPU utilization is that of all clients together\n")
	}
}

func endColumns(s iperf3.Start, e iperf3.End) string {
	if s.Test.Protocol == iperf3.UDP {
		return headUDP
	}
	for _, stream := range e.Streams {
		if stream.Sent.Retransmits >= 0 && tellsSender(s, stream.Sender) {
			return headRetr
		}
	}
	return headPlain
}

func (t *text) direction(e iperf3.End, sends bool) {
	sum, streams := sumEnd(e, sends)
	for _, s := range streams {
		t.stream(e, s)
	}
	if t.start.Test.Parallel > 1 {
		t.sumOf(e, sum, sends)
	}
	if t.output.verbose {
		t.verboseEnd(e, sends)
	}
}

// shows tells whether a side's figures are printed: the own side's always; the
// other's on a client, and with -V; and whether they are known.
func (t *text) shows(e iperf3.End, sends, ofSender bool) (shown, known bool) {
	if own := sends == ofSender; own {
		return true, true
	}
	return !t.start.Server || t.output.verbose, !e.Partial
}

// side prints a side's line, or that there are no figures of it.
func (t *text) side(e iperf3.End, sends, ofSender bool, id string, line func() string) {
	says := saysReceiver
	if ofSender {
		says = saysSender
	}
	switch shown, known := t.shows(e, sends, ofSender); {
	case shown && known:
		t.printf("%s", line())
	case shown:
		t.printf(noneAvailable, id, says)
	}
}

func (t *text) stream(e iperf3.End, s iperf3.StreamEnd) {
	id := socketID(s.Socket)
	t.side(e, s.Sender, true, id, func() string {
		return sentLine(t.row(id, s.Sender, 0, s.Sent.Seconds, s.Sent.Bytes, s.Sent.BitsPerSecond), s.Sent, s.UDP)
	})
	if s.UDP != nil && s.UDP.OutOfOrder > 0 {
		t.printf("[SUM]%s %4.1f-%4.1f sec  %d datagrams received out-of-order\n", t.roleMark(s.Sender), 0.0, s.Sent.Seconds, s.UDP.OutOfOrder)
	}
	t.side(e, s.Sender, false, id, func() string {
		r := t.row(id, s.Sender, 0, s.Received.Seconds, s.Received.Bytes, s.Received.BitsPerSecond)
		if u := s.UDP; u != nil {
			return r.datagrams(u.JitterSeconds, u.Lost, u.ReceivedPackets, percent(u.Lost, u.ReceivedPackets), saysReceiver)
		}
		return r.plain(saysReceiver)
	})
}

func sentLine(r row, sent iperf3.Sum, u *iperf3.UDPEnd) string {
	switch {
	case u != nil:
		return r.datagrams(0, 0, u.SentPackets, 0, saysSender)
	case sent.Retransmits >= 0:
		return r.retransmits(sent.Retransmits, saysSender)
	}
	return r.plain(saysSender)
}

func (t *text) sumOf(e iperf3.End, sum endSum, sends bool) {
	udp := t.start.Test.Protocol == iperf3.UDP
	t.side(e, sends, true, sumID, func() string {
		r := t.row(sumID, sends, 0, sum.sent.Seconds, sum.sent.Bytes, sum.sent.BitsPerSecond)
		if udp {
			return r.datagrams(0, 0, sum.sentPackets, 0, saysSender)
		}
		return sentLine(r, sum.sent, nil)
	})
	t.side(e, sends, false, sumID, func() string {
		r := t.row(sumID, sends, 0, sum.received.Seconds, sum.received.Bytes, sum.received.BitsPerSecond)
		if udp {
			return r.datagrams(sum.jitter, sum.lost, sum.receivedPackets, sum.lostPercent, saysReceiver)
		}
		return r.plain(saysReceiver)
	})
}

func (t *text) verboseEnd(e iperf3.End, sends bool) {
	t.printf("%s", t.cpuLines(e, sends))
	if t.start.Test.Protocol == iperf3.UDP {
		return
	}
	sender, receiver := congestion(t.start, e, sends)
	if sender != "" {
		t.printf("snd_tcp_congestion %s\n", result.Clean(sender))
	}
	if receiver != "" {
		t.printf("rcv_tcp_congestion %s\n", result.Clean(receiver))
	}
}

// cpuLines are a direction's. iperf3 itself has none of a test in which this end only receives, and of both directions both stand
// behind the one in which it sends (iperf_print_results in iperf_api.c).
func (t *text) cpuLines(e iperf3.End, sends bool) string {
	switch {
	case !t.output.plain:
		return cpuLine(e, sends)
	case !sends:
		return ""
	case t.start.Test.Bidirectional:
		return cpuLine(e, true) + cpuLine(e, false)
	}
	return cpuLine(e, true)
}

func cpuLine(e iperf3.End, sends bool) string {
	local, remote := saysReceiver, saysSender
	if sends {
		local, remote = remote, local
	}
	one := func(place, side string, c iperf3.CPU) string {
		return fmt.Sprintf("%s/%s %.1f%% (%.1f%%u/%.1f%%s)", place, side, c.Total, c.User, c.System)
	}
	return "CPU Utilization: " + one("local", local, e.Local) + ", " + one("remote", remote, e.Remote) + "\n"
}

// congestion is the congestion control of a direction's two ends; a server tells
// its own only, as iperf3's, which prints before it hears of the client's.
func congestion(s iperf3.Start, e iperf3.End, sends bool) (sender, receiver string) {
	sender, receiver = e.SenderCongestion, e.ReceiverCongestion
	if s.Test.Bidirectional && !sends {
		sender, receiver = receiver, sender
	}
	switch {
	case s.Server && sends:
		receiver = ""
	case s.Server:
		sender = ""
	}
	return sender, receiver
}
