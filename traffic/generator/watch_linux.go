package generator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// watch reads what the kernel counts of a program: its threads' CPU time, its connections,
// and what its ports lost.
type watch struct {
	pid         int
	receives    bool
	first, last int // the receiver's ports
	udp, tcp    bool
}

func newWatch(p *process, t task, receives bool) watch {
	tcp := t.kind == "stream" || t.load.Text("protocol") == "tcp"
	return watch{pid: p.pid, receives: receives, first: t.port, last: t.port + t.ports() - 1, tcp: tcp, udp: !tcp}
}

// sight is one reading.
type sight struct {
	at          time.Time
	threads     map[string]threadTime
	connections map[string]connectionState // by socket
	drops       uint64                     // by the sockets of UDP
}

// threadTime is how long a thread ran, and how long it could have and had no CPU.
type threadTime struct{ ran, waited time.Duration }

// connectionState is a TCP connection's TCP_INFO, and what else its socket tells.
type connectionState struct {
	info              unix.TCPInfo
	congestion        string
	send, receiveSize int // of its buffers
}

func (w watch) look() (sight, error) {
	s := sight{at: time.Now(), threads: map[string]threadTime{}, connections: map[string]connectionState{}}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", w.pid))
	if err != nil {
		return s, err
	}
	for _, file := range files {
		if err := s.addThread(file); err != nil {
			return s, err
		}
	}
	if w.udp && w.receives {
		return s, s.addDrops(w)
	}
	if !w.tcp {
		return s, nil
	}
	return s, eachConnection(w.pid, func(socket string, fd int, info unix.TCPInfo) error {
		state := connectionState{info: info}
		state.congestion, _ = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		state.send, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		state.receiveSize, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
		s.connections[socket] = state
		return nil
	})
}

// choose gives the program's connections the congestion control that the load names, as
// our own engines do it a socket: a program that cannot be told leaves it to the kernel.
func (w watch) choose(word string) error {
	return eachConnection(w.pid, func(_ string, fd int, _ unix.TCPInfo) error {
		if had, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err == nil && had == word {
			return nil
		}
		return traffic.SetCongestion(fd, word)
	})
}

// addThread reads "ran waited slices", in nanoseconds
// (Documentation/scheduler/sched-stats.rst).
func (s *sight) addThread(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil // it has ended
	}
	if err != nil {
		return fmt.Errorf("reading a thread's times: %w", err)
	}
	var ran, waited int64
	if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	s.threads[file] = threadTime{time.Duration(ran), time.Duration(waited)}
	return nil
}

// addDrops reads the last column of the sockets on the test's ports (proc_net_udp(5)).
func (s *sight) addDrops(w watch) error {
	for _, table := range []string{"udp", "udp6"} {
		rows, err := socketRows(table)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.port < w.first || row.port > w.last {
				continue
			}
			drops, err := strconv.ParseUint(row.fields[len(row.fields)-1], 10, 64)
			if err != nil {
				return fmt.Errorf("reading the drops of a socket: %w", err)
			}
			s.drops += drops
		}
	}
	return nil
}

// leastShare is the part of the window that a thread runs at least to count as one that
// does the work: others only wait for the end.
const leastShare = 0.01

// fill adds what was counted between two readings.
func (w watch) fill(end *result.PairEnd, before, after sight, t task) {
	window := after.at.Sub(before.at)
	var ran, waited time.Duration
	for name, now := range after.threads {
		did := now.ran - before.threads[name].ran
		ran += did
		waited += now.waited - before.threads[name].waited
		if did.Seconds() > leastShare*window.Seconds() {
			end.Threads++
		}
	}
	end.CPUSeconds = ran.Seconds()
	if end.Offered != nil {
		end.Offered.WaitSeconds = waited.Seconds()
	}
	if w.receives && w.udp && after.drops >= before.drops {
		w.fillDrops(end, after.drops-before.drops)
	}
	w.fillConnections(end, before, after, t)
}

// fillDrops adds what the sockets had no room for. Of a receiver that tells nothing, its
// sender's program knows what became of the rest.
func (w watch) fillDrops(end *result.PairEnd, drops uint64) {
	switch {
	case end.Arrived != nil:
		end.Arrived.SocketDrops = min(drops, end.Arrived.Lost)
	case end.WindowSeconds == 0:
		end.Arrived = &result.Arrived{SocketDrops: drops}
	}
}

// fillConnections keeps the connections that moved most, one a stream: the others agree
// on the test. A sender that does not tell what it sent in the window has what was
// acknowledged.
func (w watch) fillConnections(end *result.PairEnd, before, after sight, t task) {
	type moved struct {
		now, old connectionState
		bytes    uint64
	}
	var all []moved
	for socket, now := range after.connections {
		old := before.connections[socket]
		all = append(all, moved{now, old, now.info.Bytes_acked - old.info.Bytes_acked + now.info.Bytes_received - old.info.Bytes_received})
	}
	slices.SortFunc(all, func(a, b moved) int { return cmp.Compare(b.bytes, a.bytes) })
	acknowledged := uint64(0)
	for _, m := range all[:min(len(all), t.streams())] {
		end.Connections = append(end.Connections, connection(m.now, m.old.info))
		acknowledged += m.now.info.Bytes_acked - m.old.info.Bytes_acked
	}
	if !w.receives && end.WindowSeconds == 0 && acknowledged > 0 {
		end.WindowSeconds, end.Bytes = after.at.Sub(before.at).Seconds(), acknowledged
	}
}

func connection(state connectionState, old unix.TCPInfo) result.Connection {
	const micro = 1e-6
	now := state.info
	c := result.Connection{
		Congestion: state.congestion, MSS: int(now.Snd_mss), RTTSeconds: float64(now.Rtt) * micro, CongestionWindow: int(now.Snd_cwnd),
		Retransmits: uint64(now.Total_retrans - old.Total_retrans), BytesRetransmitted: now.Bytes_retrans - old.Bytes_retrans,
		SegmentsOut: uint64(now.Segs_out - old.Segs_out), SegmentsIn: uint64(now.Segs_in - old.Segs_in),
		BusySeconds: float64(now.Busy_time-old.Busy_time) * micro, RwndLimitedSeconds: float64(now.Rwnd_limited-old.Rwnd_limited) * micro,
		SndbufLimitedSeconds: float64(now.Sndbuf_limited-old.Sndbuf_limited) * micro,
		SendBufferBytes:      state.send, ReceiveBufferBytes: state.receiveSize,
	}
	if now.Min_rtt != ^uint32(0) { // nothing was measured (tcp_min_rtt in include/net/tcp.h)
		c.MinRTTSeconds = float64(now.Min_rtt) * micro
	}
	return c
}
