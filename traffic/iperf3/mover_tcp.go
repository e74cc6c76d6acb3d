package iperf3

import (
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/stream"
)

// bytesMover is a mover of TCP.
type bytesMover struct {
	engine  *stream.Engine
	streams []*tcpStream
	length  uint64
	first   socketFacts
}

// tcpStream keeps the sums that wrap at the system.
type tcpStream struct {
	sender bool
	last   uint32
	sum    int64
	known  bool
}

func newBytes(t Test, streams []*dataStream, l limits, cpus []int) (mover, error) {
	b := &bytesMover{length: uint64(t.Length), first: streams[0].facts}
	flows := make([]stream.Flow, len(streams))
	for i, s := range streams {
		flows[i] = stream.Flow{Conn: s.conn, Role: s.role()}
		b.streams = append(b.streams, &tcpStream{sender: s.sender})
	}
	config := stream.Config{
		Message: t.Length, Threads: t.threads(cpus), CPUs: cpus, NoDelay: t.NoDelay, Discard: t.SkipReceiveCopy,
		// As iperf3's -b, by the program: the kernel's pacing, which is --fq-rate, lets
		// the first ten segments go at once. Its blocks leave whole, as its receivers
		// count no others.
		BitsPerSecond: t.BitsPerSecond, Together: max(1, t.Burst), Burst: t.catchUpBytes(), Pacing: stream.PaceBucket,
		Prompt:     t.Bytes > 0 || t.Blocks > 0, // the last byte's time is the test's
		LimitBytes: l.bytes, LimitCalls: l.blocks, LimitLater: t.Omit > 0, LimitFirst: t.first(), Payload: t.payload(), Silence: -1,
	}
	if t.ZeroCopy {
		config.Copy = stream.CopySendfile
	}
	var err error
	b.engine, err = stream.NewEngine(flows, config)
	return b, err
}

// catchUpBytes is catchUp of a stream, in bytes. At rates for which the deepest bucket is not deep enough no path keeps up.
func (t Test) catchUpBytes() int {
	return int(min(t.BitsPerSecond/8*lateness.Seconds(), stream.MaxBurst))
}

func (b *bytesMover) start()                { b.engine.Start() }
func (b *bytesMover) done() <-chan struct{} { return b.engine.Done() }
func (b *bytesMover) err() error            { return b.engine.Err() }
func (b *bytesMover) haltSenders()          { b.engine.HaltSenders() }
func (b *bytesMover) halt()                 { b.engine.Halt() }
func (b *bytesMover) close()                { b.engine.Close() }
func (b *bytesMover) buffers() (send, receive int) {
	return b.first.sendBuffer, b.first.receiveBuffer
}

func (b *bytesMover) queued() uint64 { return b.engine.Queued() }
func (b *bytesMover) waits() bool    { return b.engine.Unread() }

func (b *bytesMover) limitFrom(r reading) {
	b.engine.LimitFrom(r.each(func(c counts) uint64 { return c.bytes }))
}

func (b *bytesMover) anew()                     {}
func (b *bytesMover) jitter() *result.Histogram { return nil }
func (b *bytesMover) lag() *result.Histogram    { return nil }

func (b *bytesMover) away() (time.Duration, error) { return 0, nil } // what TCP could not send it sends later

func (b *bytesMover) read() reading   { return b.reading(b.engine.Snapshot()) }
func (b *bytesMover) glance() reading { return b.reading(b.engine.Counts()) }

func (b *bytesMover) reading(snapshot stream.Snapshot) reading {
	r := reading{at: snapshot.At, streams: make([]counts, len(b.streams)), send: snapshot.Send, receive: snapshot.Receive}
	for i, s := range b.streams {
		f := snapshot.Flows[i]
		r.streams[i] = counts{bytes: f.Bytes, blocks: f.Bytes / b.length, calls: f.Calls, failure: f.Err}
		if f.TCP != nil {
			r.roundTrip = max(r.roundTrip, f.TCP.RTT)
			if !s.sender {
				r.segments += uint64(f.TCP.SegmentsIn)
			}
		}
		if s.sender && f.TCP != nil {
			r.streams[i].tcp = s.counts(f.TCP)
		}
	}
	r.shortfall = shortfallOf(snapshot.Flows)
	return r
}

func shortfallOf(flows []stream.FlowCounts) (s shortfall) {
	senders := time.Duration(0)
	for _, f := range flows {
		if f.Role == traffic.Send {
			senders++
			s.missed, s.held = s.missed+f.Missed, s.held+f.Held
		}
	}
	return shortfall{missed: s.missed / max(1, senders), held: s.held / max(1, senders)}
}

// counts are those of a sender. Before the first reading nothing was sent again
// but perhaps the handshake's, which iperf3 counts, too.
func (s *tcpStream) counts(info *stream.TCPInfo) *tcpCounts {
	if s.known {
		s.sum += int64(info.Retransmits - s.last) // in its own width, so that it may wrap
	} else {
		s.sum, s.known = int64(info.Retransmits), true
	}
	s.last = info.Retransmits
	return &tcpCounts{retransmits: s.sum, busy: info.Busy, rwnd: info.RwndLimited, sndbuf: info.SndbufLimited, minRTT: info.MinRTT, state: TCPState{
		CongestionWindow: int64(info.CongestionWindow) * int64(info.MSS), SendWindow: int64(info.SendWindow),
		RTT: info.RTT.Microseconds(), RTTVar: info.RTTVar.Microseconds(), PMTU: int64(info.PathMTU),
		Reorder: int64(info.ReorderSeen),
	}}
}
