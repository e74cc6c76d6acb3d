package ping

import (
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// socketState is TCP_INFO with what a connection was set to; nil where it could not
// be read.
type socketState struct {
	fd   int
	info *unix.TCPInfo
}

// snapshot reads the clock next to the counters; TCP_INFO comes last, because it
// waits for whoever holds the socket's lock.
func (e *hotEngine) snapshot() snapshot {
	s := snapshot{at: time.Now()}
	for _, p := range e.responders {
		s.seen.add(&p.counts)
	}
	for _, t := range e.all {
		s.spent.Add(traffic.ThreadTime(t.clock.CPU(), t.clock.Wait()))
	}
	for _, fd := range e.fds {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			break // UDP has none
		}
		s.sockets = append(s.sockets, socketState{fd, info})
	}
	return s
}

// connections are the flows between two snapshots.
func connections(before, after snapshot) []result.Connection {
	var all []result.Connection
	for i := range min(len(before.sockets), len(after.sockets)) {
		all = append(all, connection(after.sockets[i].fd, before.sockets[i].info, after.sockets[i].info))
	}
	return all
}

// connection subtracts in the counters' own width, so that they may wrap.
func connection(fd int, before, after *unix.TCPInfo) result.Connection {
	c := result.Connection{
		MSS:                  int(after.Snd_mss),
		RTTSeconds:           microseconds(uint64(after.Rtt)),
		MinRTTSeconds:        minRTT(after),
		CongestionWindow:     int(after.Snd_cwnd),
		Retransmits:          uint64(after.Total_retrans - before.Total_retrans),
		BytesRetransmitted:   after.Bytes_retrans - before.Bytes_retrans,
		SegmentsOut:          uint64(after.Segs_out - before.Segs_out),
		SegmentsIn:           uint64(after.Segs_in - before.Segs_in),
		BusySeconds:          microseconds(after.Busy_time - before.Busy_time),
		RwndLimitedSeconds:   microseconds(after.Rwnd_limited - before.Rwnd_limited),
		SndbufLimitedSeconds: microseconds(after.Sndbuf_limited - before.Sndbuf_limited),
	}
	c.Congestion, _ = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	c.SendBufferBytes, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	c.ReceiveBufferBytes, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return c
}

// minRTT is 0 where nothing was measured: the kernel then says ~0U (tcp_min_rtt in
// include/net/tcp.h).
func minRTT(info *unix.TCPInfo) float64 {
	if info.Min_rtt == ^uint32(0) {
		return 0
	}
	return microseconds(uint64(info.Min_rtt))
}

func microseconds(n uint64) float64 { return float64(n) / 1e6 }
