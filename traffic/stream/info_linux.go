package stream

import (
	"time"

	"golang.org/x/sys/unix"
)

// info asks for TCP_INFO.
func (s *socket) info() *TCPInfo {
	fd := int(s.fd)
	got, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil
	}
	info := &TCPInfo{
		MSS: int(got.Snd_mss), PathMTU: int(got.Pmtu),
		RTT: microseconds(uint64(got.Rtt)), RTTVar: microseconds(uint64(got.Rttvar)), MinRTT: minRTT(got),
		CongestionWindow: int(got.Snd_cwnd), SendWindow: int(got.Snd_wnd), Reordering: int(got.Reordering), ReorderSeen: got.Reord_seen,
		Retransmits: got.Total_retrans, SegmentsOut: got.Segs_out, SegmentsIn: got.Segs_in,
		BytesRetransmitted: got.Bytes_retrans, BytesAcked: got.Bytes_acked, BytesReceived: got.Bytes_received,
		Busy: microseconds(got.Busy_time), RwndLimited: microseconds(got.Rwnd_limited), SndbufLimited: microseconds(got.Sndbuf_limited),
	}
	info.Congestion, _ = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	info.SendBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	info.ReceiveBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return info
}

// queued is what was handed over and not acknowledged (SIOCOUTQ, tcp(7)), in bytes, and
// still may be: of a connection that was cut off the queue stays as it was.
func (s *socket) queued() int {
	const established, closeWait = 1, 8 // include/net/tcp_states.h
	info, err := unix.GetsockoptTCPInfo(int(s.fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.State != established && info.State != closeWait {
		return 0
	}
	n, _ := unix.IoctlGetInt(int(s.fd), unix.SIOCOUTQ)
	return n
}

// unread is what has come and was not read (SIOCINQ, tcp(7)), in bytes.
func (s *socket) unread() int {
	n, _ := unix.IoctlGetInt(int(s.fd), unix.SIOCINQ)
	return n
}

// minRTT is 0 where nothing was measured: the kernel then says ~0U
// (tcp_min_rtt in include/net/tcp.h).
func minRTT(info *unix.TCPInfo) time.Duration {
	if info.Min_rtt == ^uint32(0) {
		return 0
	}
	return microseconds(uint64(info.Min_rtt))
}

func microseconds(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }

func (s *socket) completions() (completed, copied uint64) {
	if s.zero == nil {
		return 0, 0
	}
	return s.zero.completed.Load(), s.zero.copied.Load()
}

// available refuses nothing here: what a kernel lacks is seen at its socket.
func (c Config) available() error { return nil }

// canDiscard tells that this system drops payload unread.
const canDiscard = true
