package iperf3

import (
	"math"
	"runtime"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// mover moves the bytes of a test's streams: one of the two engines.
type mover interface {
	start()
	done() <-chan struct{} // every stream that has an end of its own came to it
	err() error
	read() reading
	glance() reading // read without what costs a system call a stream: no TCP state
	// buffers are the first socket's as they really are, in bytes; 0 where the system
	// does not tell.
	buffers() (send, receive int)
	queued() uint64 // bytes that this end handed over and the other one has not acknowledged
	waits() bool    // something has come that was not read yet; never where the system does not tell
	haltSenders()   // nothing is sent after it
	halt()          // nothing moves after it; the sockets stay open
	close()
	limitFrom(reading) // the limits of a test that omitted something count from there on
	anew()             // jitter and the distributions of jitter and lag begin anew
	jitter() *result.Histogram
	lag() *result.Histogram
	away() (time.Duration, error) // for how long, of the whole test, the system had no way to the other end for datagrams, and why
}

// reading is what the streams have done since the start, in their order.
type reading struct {
	at      time.Time
	streams []counts
	send    traffic.CrewTime // of the hot threads that send, and of those that receive
	receive traffic.CrewTime
	away    time.Duration // for how long there was no way for the datagrams that this end sends, and why
	awayWhy error
	// roundTrip is the longest of TCP's where the system was asked, and segments how many came to streams that receive.
	roundTrip time.Duration
	segments  uint64
	shortfall
}

// shortfall is how much of the rate that was asked for those that send did not send for a reason at their end, in time of it, the mean of them.
type shortfall struct {
	missed time.Duration // as their threads woke too late
	held   time.Duration // as their sockets were full
}

func (s shortfall) since(before shortfall) shortfall {
	return shortfall{missed: s.missed - before.missed, held: s.held - before.held}
}

// each is a figure of every stream.
func (r reading) each(of func(counts) uint64) []uint64 {
	all := make([]uint64, len(r.streams))
	for i, s := range r.streams {
		all[i] = of(s)
	}
	return all
}

// counts are one stream's, cumulative but for those of state. Errors, packets
// and outOfOrder are of iperf3's arithmetic.
type counts struct {
	bytes   uint64
	blocks  uint64 // calls of a sender, whole blocks of a receiver, datagrams
	calls   uint64 // of the engine: sends, reads, or of a receiver of datagrams aggregates
	tcp     *tcpCounts
	udp     *udpCounts
	failure error // why it moves no more
}

type tcpCounts struct {
	retransmits  int64
	busy         time.Duration // with something to send
	rwnd, sndbuf time.Duration // of that, held up by the other end's window, by this end's buffer
	minRTT       time.Duration // 0: not known
	state        TCPState
}

type udpCounts struct {
	packets    int64
	errors     int64
	outOfOrder int64
	jitter     float64   // seconds
	arrivals   *Arrivals // but for SocketDrops, which are of a span
	messages   uint64    // aggregates of datagrams, as the socket counts them: that came,
	dropped    uint64    // and for which its buffer was full
}

// limits end senders on their own, where the engine can count them exactly.
type limits struct {
	bytes  uint64
	blocks uint64
}

// limits are those of what this end sends in a test. A server has none of UDP: a client
// that lost a datagram would wait for it for ever, unless it says that it does not; but for a
// test in both directions, which ends by what the client sends at the latest. It has none either where something is omitted, which
// may end later at the client, that would wait for what it did not count, unless it sees
// where this end goes on (Test.first). Bytes are those
// of whole blocks, as iperf3 sends no others: its receivers wait for the rest of one
// (Nread in net.c) before they count it.
func (t Test) limits(server bool) limits {
	if !t.Bidirectional && t.Reverse != server || server && (t.Protocol == UDP && !t.Bidirectional && !t.EndsQuiet || t.Omit > 0 && !t.minds()) {
		return limits{}
	}
	return limits{bytes: t.wholeBlocks(t.Bytes), blocks: t.Blocks}
}

func (t Test) wholeBlocks(bytes uint64) uint64 {
	if block := uint64(t.Length); block > 0 {
		if part := bytes % block; part > 0 && bytes <= math.MaxUint64-block {
			bytes += block - part
		}
	}
	return bytes
}

// minds tells whether a sender itself stops at the test's limit, as iperf3's does where it sends several blocks in a row, for
// which -b without bursts leaves it no time (iperf_send in iperf_api.c of 3.12, iperf_send_mt of 3.21).
func (t Test) minds() bool {
	return t.volume() > 0 && (t.Burst > 1 || t.Burst == 0 && t.BitsPerSecond == 0)
}

// first is how many bytes of what is omitted a sender sends, in whole blocks; it waits for the end of that then, as iperf3's
// does. So the path is empty when both ends begin to count, and what one counts the other does, too. 0: it does not stop.
func (t Test) first() uint64 {
	if t.Omit == 0 || !t.minds() {
		return 0
	}
	return t.wholeBlocks(t.volume())
}

// volume is what a test's limit asks for, in bytes.
func (t Test) volume() uint64 { return max(t.Bytes, t.Blocks*uint64(t.Length)) }

// between is how long a sender of a rate is silent between what leaves together.
func (t Test) between() time.Duration {
	if t.BitsPerSecond == 0 {
		return 0
	}
	return time.Duration(float64(8*t.Length*max(1, t.Burst)) / t.BitsPerSecond * float64(time.Second))
}

// threads is how many hot threads each direction has: as many as may run at
// once, one a stream at most.
func (t Test) threads(cpus []int) int {
	n := runtime.NumCPU()
	if len(cpus) > 0 {
		n = min(n, len(cpus))
	}
	return min(n, t.Parallel)
}

// payload is what datagrams and blocks hold: iperf3's repeating pattern is the
// digits in turn.
func (t Test) payload() []byte {
	if !t.RepeatingPayload {
		return nil
	}
	return []byte("0123456789")
}

func (s *dataStream) role() traffic.Role {
	if s.sender {
		return traffic.Send
	}
	return traffic.Receive
}

// newMover takes the streams' sockets over, also when it fails.
func newMover(t Test, streams []*dataStream, server bool, cpus []int) (mover, error) {
	if t.Protocol == UDP {
		return newDatagrams(t, streams, t.limits(server), cpus)
	}
	return newBytes(t, streams, t.limits(server), cpus)
}
