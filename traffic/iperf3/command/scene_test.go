package command

import (
	"net/netip"
	"syscall"
	"time"

	"windtunnel/result"
	"windtunnel/traffic/iperf3"
)

// scene is a test as an engine tells it, with figures from nowhere.
type scene struct {
	start     iperf3.Start
	intervals []iperf3.Interval
	end       *iperf3.End
	fails     error
	refused   bool // before its streams stood
}

func (s scene) play(to iperf3.Observer) error {
	if s.start.Cookie != "" && !s.refused {
		to.Connected(s.start)
	}
	for _, i := range s.intervals {
		to.Interval(i)
	}
	if s.end != nil {
		to.Ended(*s.end)
	}
	if s.fails != nil {
		to.Failed(s.fails)
	}
	return s.fails
}

// ways of a test.
const (
	forward = iota
	reverse
	bidirectional
)

// newScene is a test of two seconds; change makes it a special one.
func newScene(server bool, protocol iperf3.Protocol, way, parallel int, change ...func(*scene)) scene {
	s := scene{start: iperf3.Start{
		Server: server, Session: 1, Time: time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC), Host: "192.0.2.1", Port: 5201,
		ClientVersion: "3.21", Cookie: "abcdefghijklmnopqrstuvwxyz234567abcd", ControlMSS: 1448,
		SendBufferActual: 16384, ReceiveBufferActual: 131072,
		Test: iperf3.Test{
			Protocol: protocol, Parallel: parallel, Length: 131072, Duration: 2 * time.Second,
			Reverse: way == reverse, Bidirectional: way == bidirectional, Interval: time.Second,
		},
	}}
	if server {
		s.start.Port = 40000
	}
	if protocol == iperf3.UDP {
		s.start.Test.Length, s.start.Test.BitsPerSecond = 1448, 1<<20
	}
	s.start.Connections = connections(server, way, parallel)
	s.intervals = []iperf3.Interval{s.interval(0, 1.000123, false), s.interval(1.000123, 2.000045, false)}
	s.end = s.ends()
	for _, c := range change {
		c(&s)
	}
	return s
}

func connections(server bool, way, parallel int) (all []iperf3.Connection) {
	directions := []bool{server == (way == reverse)}
	if way == bidirectional {
		directions = []bool{!server, server}
	}
	near, far := netip.MustParseAddrPort("192.0.2.2:50000"), netip.MustParseAddrPort("[::ffff:192.0.2.1]:5201")
	if server {
		near, far = far, near
	}
	for _, sends := range directions {
		for range parallel {
			n := len(all)
			id := n + 2
			if n == 0 {
				id = 1
			}
			all = append(all, iperf3.Connection{ID: id, Socket: 5 + 2*n, Sender: sends, Local: near, Remote: far})
		}
	}
	return all
}

func (s scene) interval(start, end float64, omitted bool) iperf3.Interval {
	i := iperf3.Interval{Start: start, End: end, Seconds: end - start, Omitted: omitted}
	for n, c := range s.start.Connections {
		one := iperf3.StreamInterval{ID: c.ID, Socket: c.Socket, Sender: c.Sender, Bytes: 1178599424 - uint64(n)*1048576}
		if s.start.Test.Protocol == iperf3.UDP {
			one.Bytes = 131768
			one.UDP = &iperf3.Datagrams{Packets: 91}
			if !c.Sender {
				one.UDP.Lost, one.UDP.LostPercent, one.UDP.JitterSeconds = 2, 200.0/91, 0.000012+float64(n)*1e-6
				one.UDP.True = &iperf3.Arrivals{Received: 89, Lost: 3, Duplicate: 1}
			}
		} else if c.Sender {
			one.TCP = &iperf3.TCPState{Retransmits: int64(3 * n), CongestionWindow: 1047728, SendWindow: 8542208, RTT: 67, RTTVar: 31, PMTU: 1500, Reorder: int64(n)}
		}
		one.BitsPerSecond = float64(one.Bytes) * 8 / i.Seconds
		i.Streams = append(i.Streams, one)
	}
	return i
}

func (s scene) ends() *iperf3.End {
	e := &iperf3.End{
		Local: iperf3.CPU{Total: 70.125, User: 0.5, System: 69.625}, Remote: iperf3.CPU{Total: 45.25, User: 1.25, System: 44},
		SenderCongestion: "cubic", ReceiverCongestion: "reno",
		Limit: result.Limit{Verdict: result.ReceiverLimited, Says: "the receiver's threads were busy 95 % of the time, the sender's 70 %"},
	}
	for n, c := range s.start.Connections {
		one := iperf3.StreamEnd{ID: c.ID, Socket: c.Socket, Sender: c.Sender, Sent: sumOf(2.000045, 2357198848-uint64(n)*2097152), Received: sumOf(2.001, 2356150272-uint64(n)*2097152)}
		if s.start.Test.Protocol == iperf3.UDP {
			one.Sent, one.Received = sumOf(2.000045, 263536), sumOf(2.001, 257744)
			one.UDP = &iperf3.UDPEnd{JitterSeconds: 0.000012, SentPackets: 182, ReceivedPackets: 182, Lost: 4, LostPercent: 400.0 / 182}
			if !c.Sender {
				one.UDP.OutOfOrder = 3
				one.UDP.True = &iperf3.Arrivals{Received: 178, Lost: 6, Late: 1, Reordered: 2, Duplicate: 2, Corrupt: 1, SocketDrops: 3}
				e.Jitter = &result.Histogram{Count: 177, Min: 1e-6, Mean: 11e-6, P50: 10e-6, P90: 20e-6, P99: 52e-6, P999: 90e-6, Max: 110e-6}
			} else {
				e.Lag = &result.Histogram{Count: 182, Min: 1e-6, Mean: 2e-6, P50: 2e-6, P90: 4e-6, P99: 1.25e-3, P999: 2e-3, Max: 2.5e-3}
			}
		} else if c.Sender || !s.start.Server {
			one.Sent.Retransmits = int64(6 * n)
			if c.Sender {
				one.TCP = &iperf3.TCPEnd{MaxCongestionWindow: 1047728, MaxSendWindow: 8542208, MaxRTT: 67, MinRTT: 60, MeanRTT: 64, Reorder: int64(n)}
			}
		}
		e.Streams = append(e.Streams, one)
	}
	return e
}

func sumOf(seconds float64, bytes uint64) iperf3.Sum {
	return iperf3.Sum{Seconds: seconds, Bytes: bytes, BitsPerSecond: float64(bytes) * 8 / seconds, Retransmits: -1}
}

// withOmit puts a second that is not counted before the others.
func withOmit(s *scene) {
	s.start.Test.Omit = time.Second
	s.intervals = append([]iperf3.Interval{s.interval(0, 1.0005, true)}, s.intervals...)
}

// withoutAWay is a sender whose link was down for a while.
func withoutAWay(s *scene) { s.end.Away, s.end.AwayWhy = 300*time.Millisecond, syscall.ENETUNREACH }

// stoodStill is a test of which both ends were stopped for a while.
func stoodStill(s *scene) { s.end.Stood, s.end.RemoteStood = 300*time.Millisecond, time.Second }

// withoutTCPInfo is a system that tells nothing of TCP.
func withoutTCPInfo(s *scene) {
	for _, i := range s.intervals {
		for n := range i.Streams {
			i.Streams[n].TCP = nil
		}
	}
	for n := range s.end.Streams {
		s.end.Streams[n].TCP = nil
		s.end.Streams[n].Sent.Retransmits = -1
	}
}

// cutShort lets a test end early, without the peer's figures.
func cutShort(why error) func(*scene) {
	return func(s *scene) {
		s.intervals = s.intervals[:1]
		s.end.Partial = true
		s.end.Remote, s.end.ReceiverCongestion = iperf3.CPU{}, ""
		for n := range s.end.Streams {
			if s.end.Streams[n].Sender {
				s.end.Streams[n].Received = sumOf(2, 0)
			} else {
				s.end.Streams[n].Sent = sumOf(2, 0)
			}
		}
		s.fails = why
	}
}

// turnedAway is a test that the server refuses when it knows what is asked for.
func turnedAway(why error) func(*scene) {
	return func(s *scene) { s.intervals, s.end, s.fails, s.refused = nil, nil, why, true }
}

// quiet takes away what happened to datagrams on the way.
func quiet(s *scene) {
	for _, i := range s.intervals {
		for _, stream := range i.Streams {
			if stream.UDP.True != nil {
				*stream.UDP = iperf3.Datagrams{Packets: 91, JitterSeconds: 0.000012, True: &iperf3.Arrivals{Received: 91}}
			}
		}
	}
	for _, stream := range s.end.Streams {
		if stream.UDP.True != nil {
			*stream.UDP = iperf3.UDPEnd{JitterSeconds: 0.000012, SentPackets: 182, ReceivedPackets: 182, True: &iperf3.Arrivals{Received: 182}}
		}
	}
	s.end.Lag = nil
}
