package iperf3

import (
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/datagram"
)

// tally turns readings of the streams into what iperf3 reports: intervals, what
// is omitted, the end.
type tally struct {
	test    Test
	streams []*dataStream
	begun   time.Time
	base    reading // when what is omitted ended; counts of the end are since then
	last    reading // when the last interval ended
	omitted bool    // the omitted part is over, or there is none
	extreme []extremes
	shown   int           // intervals since begun
	still   traffic.Still // when this end could not run, and for how long since then
	untaken stall         // likewise, of what this end sends
	silent  stall         // and of what it receives
	acked   acked         // what of it the other end's system had when the test ended
}

// extremes are a TCP sender's over its interval readings.
type extremes struct {
	end  TCPEnd
	sum  int64
	seen int64
}

func newTally(t Test, streams []*dataStream, at time.Time) *tally {
	zero := reading{at: at, streams: make([]counts, len(streams))}
	for i, s := range streams {
		if t.Protocol == UDP {
			zero.streams[i].udp = &udpCounts{}
			if !s.sender {
				zero.streams[i].udp.arrivals = &Arrivals{}
			}
		}
	}
	return &tally{test: t, streams: streams, begun: at, base: zero, last: zero, omitted: t.Omit == 0, extreme: make([]extremes, len(streams))}
}

// reset ends the omitted part: what came until now counts no more.
func (t *tally) reset(now reading) {
	t.base, t.last, t.begun, t.omitted, t.shown, t.still.For = now, now, now.at, true, 0, 0
	t.extreme = make([]extremes, len(t.streams))
	t.untaken, t.silent = stall{}, stall{}
}

// interval is what happened since the last one.
func (t *tally) interval(now reading) Interval {
	v := Interval{
		Start: t.last.at.Sub(t.begun).Seconds(), End: now.at.Sub(t.begun).Seconds(),
		Seconds: now.at.Sub(t.last.at).Seconds(), Omitted: !t.omitted,
	}
	for i, s := range t.streams {
		v.Streams = append(v.Streams, t.streamInterval(i, s, now.streams[i], v.Seconds))
	}
	t.last = now
	t.shown++
	return v
}

func (t *tally) streamInterval(i int, s *dataStream, now counts, seconds float64) StreamInterval {
	before := t.last.streams[i]
	v := StreamInterval{ID: s.id, Socket: s.shown.Socket, Sender: s.sender, Bytes: now.bytes - before.bytes}
	v.BitsPerSecond = rate(v.Bytes, seconds)
	if now.tcp != nil && s.sender {
		state := now.tcp.state
		state.Retransmits = now.tcp.retransmits - retransmits(before)
		v.TCP = &state
		t.extreme[i].note(state)
	}
	if now.udp != nil {
		v.UDP = differ(before.udp, now.udp)
	}
	return v
}

// note takes the last reading's states in, where it is no interval's.
func (t *tally) note(now reading) {
	for i, s := range t.streams {
		if c := now.streams[i]; s.sender && c.tcp != nil {
			t.extreme[i].note(c.tcp.state)
		}
	}
}

func retransmits(c counts) int64 {
	if c.tcp == nil {
		return 0
	}
	return c.tcp.retransmits
}

func rate(bytes uint64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return 8 * float64(bytes) / seconds
}

// differ is what datagrams did between two readings.
func differ(before, now *udpCounts) *Datagrams {
	d := &Datagrams{
		Packets: now.packets - before.packets, Lost: now.errors - before.errors,
		OutOfOrder: now.outOfOrder - before.outOfOrder, JitterSeconds: now.jitter,
	}
	d.LostPercent = percent(d.Lost, d.Packets)
	if now.arrivals != nil && before.arrivals != nil {
		d.True = now.arrived(before)
	}
	return d
}

// arrived is what became of datagrams since an earlier reading. Each stream has its own socket, so that what that dropped is told
// in datagrams by the mean of what came to it meanwhile.
func (u *udpCounts) arrived(before *udpCounts) *Arrivals {
	a := u.arrivals.since(before.arrivals)
	came := a.Received + a.Late + a.Duplicate
	a.SocketDrops = datagram.DroppedDatagrams(u.dropped-before.dropped, came, u.messages-before.messages, a.Lost)
	return a
}

func percent(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// since subtracts; what was lost before may have come by now, which does not
// make this part's loss negative.
func (a *Arrivals) since(b *Arrivals) *Arrivals {
	less := func(x, y uint64) uint64 { return x - min(x, y) }
	return &Arrivals{
		Received: less(a.Received, b.Received), Lost: less(a.Lost, b.Lost), Late: less(a.Late, b.Late),
		Reordered: less(a.Reordered, b.Reordered), Duplicate: less(a.Duplicate, b.Duplicate),
		Corrupt: less(a.Corrupt, b.Corrupt),
	}
}

func (e *extremes) note(s TCPState) {
	e.end.MaxCongestionWindow = max(e.end.MaxCongestionWindow, s.CongestionWindow)
	e.end.MaxSendWindow = max(e.end.MaxSendWindow, s.SendWindow)
	e.end.MaxRTT = max(e.end.MaxRTT, s.RTT)
	if e.end.MinRTT == 0 || s.RTT < e.end.MinRTT {
		e.end.MinRTT = s.RTT
	}
	e.sum += s.RTT
	e.seen++
	e.end.MeanRTT = e.sum / e.seen
	e.end.Reorder = s.Reorder
}

// bytes is what was moved since what is omitted ended, over all streams of the
// busier direction: that is what a limit is about in iperf3.
func (t *tally) bytes(now reading) uint64 {
	return max(t.moved(now))
}

// received is what came since then, over all streams.
func (t *tally) received(now reading) uint64 {
	_, received := t.moved(now)
	return received
}

// moved is the bytes of each direction since then.
func (t *tally) moved(now reading) (sent, received uint64) {
	return t.directions(func(i int) uint64 { return now.streams[i].bytes - t.base.streams[i].bytes })
}

// anyMoved tells whether there is more of either direction at the second reading.
func (t *tally) anyMoved(before, now reading) bool {
	sentBefore, receivedBefore := t.moved(before)
	sent, received := t.moved(now)
	return sent > sentBefore || received > receivedBefore
}

// blocks is bytes in whole blocks.
func (t *tally) blocks(now reading) uint64 {
	return max(t.directions(func(i int) uint64 { return now.streams[i].blocks - t.base.streams[i].blocks }))
}

func (t *tally) directions(of func(stream int) uint64) (sent, received uint64) {
	for i, s := range t.streams {
		if s.sender {
			sent += of(i)
		} else {
			received += of(i)
		}
	}
	return sent, received
}
