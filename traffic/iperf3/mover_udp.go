package iperf3

import (
	"net"
	"time"

	"windtunnel/result"
	"windtunnel/traffic/datagram"
)

// datagramMover is a mover of UDP.
type datagramMover struct {
	engine  *datagram.Engine
	streams []*dataStream
	length  uint64
	paced   bool
}

func newDatagrams(t Test, streams []*dataStream, l limits, cpus []int) (mover, error) {
	flows := make([]datagram.Flow, len(streams))
	for i, s := range streams {
		flows[i] = datagram.Flow{Conn: s.conn.(*net.UDPConn), Role: s.role(), ID: uint32(s.id)}
	}
	engine, err := datagram.NewEngine(flows, datagram.Config{
		Message: t.Length, Codec: header{wide: t.Counters64Bit}, FirstSeq: 1,
		BitsPerSecond: t.BitsPerSecond, Burst: t.catchUp(), Together: t.Burst, Threads: t.threads(cpus), CPUs: cpus,
		Buffer:     -one(t.Window > 0), // socketOptions have set it
		LimitBytes: l.bytes, LimitPackets: l.blocks, LimitLater: t.Omit > 0, LimitFirst: t.first() / uint64(t.Length),
		Payload: t.payload(), Patience: -1, Spread: true,
	})
	if err != nil {
		return nil, err
	}
	return &datagramMover{engine: engine, streams: streams, length: uint64(t.Length), paced: t.BitsPerSecond > 0}, nil
}

const (
	// lateness is for how long a sender may be late and still send all that its
	// rate asks for: longer than the tick of Windows (15.6 ms). iperf3 itself
	// catches up without a bound.
	lateness = 20 * time.Millisecond
	// mostLate are the datagrams up to which that holds: more at once overflow a
	// receiver's usual buffer (212,992 bytes, by the kernel's count of 768 for a
	// small one). At higher rates the engine chooses.
	mostLate = 256
)

// catchUp is how many datagrams may leave at once after the sender was late: what
// the rate brings in that time; 0: the engine's choice.
func (t Test) catchUp() int {
	if t.BitsPerSecond == 0 {
		return 0
	}
	n := 2 + int(t.BitsPerSecond/8/float64(t.Length)*lateness.Seconds())
	if n > mostLate {
		return 0
	}
	return n
}

func (d *datagramMover) start()                { d.engine.Start() }
func (d *datagramMover) done() <-chan struct{} { return d.engine.Done() }
func (d *datagramMover) err() error            { return d.engine.Err() }
func (d *datagramMover) haltSenders()          { d.engine.HaltSenders() }
func (d *datagramMover) halt()                 { d.engine.Halt() }
func (d *datagramMover) close()                { d.engine.Close() }

// queued is 0: nobody acknowledges datagrams.
func (d *datagramMover) queued() uint64 { return 0 }

func (d *datagramMover) waits() bool { return d.engine.Unread() }

func (d *datagramMover) buffers() (send, receive int) { return d.engine.Buffers() }

func (d *datagramMover) limitFrom(r reading) {
	d.engine.LimitFrom(r.each(func(c counts) uint64 { return c.blocks }))
}

func (d *datagramMover) anew() { d.engine.Anew() }

func (d *datagramMover) jitter() *result.Histogram { return histogramOf(d.engine.Jitter()) }

func (d *datagramMover) lag() *result.Histogram {
	if !d.paced {
		return nil
	}
	return histogramOf(d.engine.Lag())
}

func (d *datagramMover) away() (time.Duration, error) { return d.engine.Snapshot().Away() }

func histogramOf(r *result.Recorder) *result.Histogram {
	if r == nil {
		return nil
	}
	h := r.Histogram()
	if h.Count == 0 {
		return nil
	}
	return &h
}

func (d *datagramMover) glance() reading { return d.read() }

func (d *datagramMover) read() reading {
	snapshot := d.engine.Snapshot()
	r := reading{at: snapshot.At, streams: make([]counts, len(d.streams)), send: snapshot.Send, receive: snapshot.Receive}
	r.away, r.awayWhy = snapshot.Away()
	r.missed = snapshot.Missed / time.Duration(max(1, snapshot.Send.Threads))
	for i, s := range d.streams {
		r.streams[i] = d.counts(s.sender, snapshot.Flows[i])
	}
	return r
}

func (d *datagramMover) counts(sender bool, f datagram.FlowCounts) counts {
	c := counts{bytes: f.Bytes, blocks: f.Packets, calls: f.Calls, failure: f.Err, udp: &udpCounts{packets: int64(f.Packets)}}
	if sender {
		return c
	}
	// iperf3 counts the bytes of whatever comes, also again or too late.
	c.bytes += (f.Duplicate + f.Late) * d.length
	c.udp = &udpCounts{
		packets: int64(f.Highest), errors: f.IperfErrors, outOfOrder: f.IperfOutOfOrder, jitter: f.Jitter,
		arrivals: &Arrivals{Received: f.Packets, Lost: f.Lost, Late: f.Late, Reordered: f.Reordered, Duplicate: f.Duplicate, Corrupt: f.Corrupt},
		messages: f.Calls, dropped: f.SocketDrops,
	}
	return c
}
