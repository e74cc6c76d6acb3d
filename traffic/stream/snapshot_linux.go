package stream

import (
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// snapshot is an engine's counters at one instant.
type snapshot struct {
	at    time.Time
	bytes uint64
	calls uint64
	cpu   time.Duration // of the hot threads
	tcp   []*unix.TCPInfo
}

// snapshot reads the clock next to the counters; TCP_INFO comes last, because
// it waits for whoever holds the socket's lock.
func (e *engine) snapshot() snapshot {
	s := snapshot{at: time.Now()}
	for _, t := range e.threads {
		s.bytes += t.counter.bytes.Load()
		s.calls += t.counter.calls.Load()
	}
	for _, t := range e.threads {
		used, err := traffic.ThreadCPU(int(t.tid.Load()))
		if err == nil { // else the thread has ended, and the run with it
			s.cpu += used
		}
	}
	for _, fd := range e.fds {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			info = nil
		}
		s.tcp = append(s.tcp, info)
	}
	return s
}

// between is what the engine did from one snapshot to a later one.
func (e *engine) between(before, after snapshot) result.PairEnd {
	end := result.PairEnd{
		WindowSeconds: after.at.Sub(before.at).Seconds(),
		Bytes:         after.bytes - before.bytes,
		Calls:         after.calls - before.calls,
		CPUSeconds:    max(0, (after.cpu - before.cpu).Seconds()),
		Threads:       len(e.threads),
	}
	for i, fd := range e.fds {
		if before.tcp[i] != nil && after.tcp[i] != nil {
			end.Connections = append(end.Connections, connection(fd, before.tcp[i], after.tcp[i]))
		}
	}
	return end
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

// minRTT is 0 where nothing was measured: the kernel then says ~0U
// (tcp_min_rtt in include/net/tcp.h).
func minRTT(info *unix.TCPInfo) float64 {
	if info.Min_rtt == ^uint32(0) {
		return 0
	}
	return microseconds(uint64(info.Min_rtt))
}

func microseconds(n uint64) float64 { return float64(n) / 1e6 }
