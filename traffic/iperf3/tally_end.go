package iperf3

// results is what this end tells the other one.
func (t *tally) results(now reading, used CPU, server bool) results {
	r := results{CPUTotal: used.Total, CPUUser: used.User, CPUSystem: used.System, HasRetransmits: -1, Congestion: t.congestion(), Own: t.own(now), Streams: []streamResult{}}
	if t.test.Bidirectional || t.test.Reverse == server {
		r.HasRetransmits = 0
	}
	seconds := now.at.Sub(t.base.at).Seconds()
	for i, s := range t.streams {
		line := t.streamResult(i, s, now.streams[i])
		line.EndTime = seconds
		if line.Retransmits >= 0 {
			r.HasRetransmits = 1
		}
		r.Streams = append(r.Streams, line)
	}
	return r
}

func (t *tally) streamResult(i int, s *dataStream, now counts) streamResult {
	base := t.base.streams[i]
	r := streamResult{ID: s.id, Bytes: now.bytes - base.bytes, Retransmits: -1, tellsOmitted: true}
	if s.sender && now.tcp != nil {
		r.Retransmits = now.tcp.retransmits - retransmits(base)
	}
	if now.udp != nil {
		r.Jitter = now.udp.jitter
		r.Errors, r.OmittedErrors = now.udp.errors, base.udp.errors
		r.Packets, r.OmittedPackets = now.udp.packets, base.udp.packets
	}
	return r
}

func (t *tally) congestion() string {
	if t.test.Protocol != TCP || len(t.streams) == 0 {
		return ""
	}
	return t.streams[0].facts.congestion
}

// end is the test's result by both ends' figures; peer is nil where the other
// end's are missing.
func (t *tally) end(now reading, used CPU, server bool, peer *results) End {
	e := End{Local: used, Partial: peer == nil, Stood: t.still.For, work: t.work(now)}
	mine := t.congestion()
	theirs := ""
	others := map[int]streamResult{}
	if peer != nil {
		e.Remote = CPU{Total: peer.CPUTotal, User: peer.CPUUser, System: peer.CPUSystem}
		if t.test.GetServerOutput {
			e.ServerOutputText, e.ServerOutputJSON = peer.OutputText, peer.OutputJSON
		}
		theirs = peer.Congestion
		e.RemoteStood = peer.Own.stood()
		for _, s := range peer.Streams {
			others[s.ID] = s
		}
	}
	e.SenderCongestion, e.ReceiverCongestion = mine, theirs
	if !t.test.Bidirectional && t.test.Reverse != server {
		e.SenderCongestion, e.ReceiverCongestion = theirs, mine
	}
	for i, s := range t.streams {
		other, known := others[s.id]
		e.Streams = append(e.Streams, t.streamEnd(i, s, now, other, known))
	}
	e.Limit = t.limit(e, now, peer)
	return e
}

func (t *tally) work(now reading) work {
	w := work{
		send: now.send.Since(t.base.send), receive: now.receive.Since(t.base.receive), lacks: now.shortfall.since(t.base.shortfall),
		away: now.away - t.base.away, awayWhy: now.awayWhy,
	}
	w.sendCalls, w.receiveCalls = t.directions(func(i int) uint64 { return now.streams[i].calls - t.base.streams[i].calls })
	return w
}

func (t *tally) streamEnd(i int, s *dataStream, now reading, other streamResult, known bool) StreamEnd {
	mine := t.streamResult(i, s, now.streams[i])
	mine.EndTime = now.at.Sub(t.base.at).Seconds()
	e := StreamEnd{ID: s.id, Socket: s.shown.Socket, Sender: s.sender}
	here, there := sumOf(mine, mine.EndTime), Sum{Retransmits: -1, Seconds: mine.EndTime}
	if known {
		there = sumOf(other, mine.EndTime)
	}
	e.Sent, e.Received = there, here
	if s.sender {
		e.Sent, e.Received = here, there
	}
	if s.sender && t.extreme[i].seen > 0 {
		e.TCP = &t.extreme[i].end
	}
	if t.test.Protocol == UDP {
		e.UDP = t.datagramsEnd(i, s, now.streams[i].udp, mine, other)
	}
	return e
}

// sumOf is one end's line; an end before 3.2 does not tell its time.
func sumOf(r streamResult, seconds float64) Sum {
	if took := r.EndTime - r.StartTime; took > 0 {
		seconds = took
	}
	return Sum{Seconds: seconds, Bytes: r.Bytes, BitsPerSecond: rate(r.Bytes, seconds), Retransmits: r.Retransmits}
}

func (t *tally) datagramsEnd(i int, s *dataStream, now *udpCounts, mine, other streamResult) *UDPEnd {
	sender, receiver := mine, other
	if !s.sender {
		sender, receiver = other, mine
	}
	if other.Packets > 0 && !other.tellsOmitted {
		// Peers before 3.14 count what is omitted in their packets and do not say how
		// much it was. A sender's bytes tell; of a receiver's, this end's own share
		// is the best guess.
		if s.sender {
			receiver.OmittedPackets = min(receiver.Packets, sender.OmittedPackets)
		} else {
			sender.OmittedPackets = max(0, sender.Packets-int64(sender.Bytes/uint64(t.test.Length)))
		}
	}
	e := &UDPEnd{
		JitterSeconds: receiver.Jitter, SentPackets: sender.Packets - sender.OmittedPackets,
		ReceivedPackets: receiver.Packets - receiver.OmittedPackets, Lost: receiver.Errors - receiver.OmittedErrors,
	}
	e.LostPercent = percent(e.Lost, e.SentPackets)
	if e.SentPackets == 0 {
		e.LostPercent = percent(e.Lost, e.ReceivedPackets)
	}
	if !s.sender {
		base := t.base.streams[i].udp
		e.OutOfOrder = now.outOfOrder - base.outOfOrder
		e.True = now.arrived(base)
	}
	return e
}
