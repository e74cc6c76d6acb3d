package stream

import (
	"slices"
	"time"

	"windtunnel/traffic"
)

// Snapshot is an engine's counters at one instant, counted since its start.
type Snapshot struct {
	At      time.Time
	Send    traffic.CrewTime
	Receive traffic.CrewTime
	Flows   []FlowCounts // as the flows were given
}

// Queued is what senders have handed over and their peers have not acknowledged, in
// bytes; 0 where the system does not tell.
func (e *Engine) Queued() uint64 {
	var sum uint64
	for _, f := range e.flows {
		if f.role == traffic.Send {
			sum += uint64(max(0, f.queued()))
		}
	}
	return sum
}

// backlog is what some senders had handed over and their peers had not acknowledged when it was last asked for, in bytes.
type backlog uint64

// shrinks asks again, and tells whether it has become less: the peers take what they get, though there is no room for more. A
// large buffer before a slow path has none for longer than a peer may be silent. It never does where the system does not tell.
func (b *backlog) shrinks(senders []*flow) bool {
	var now backlog
	for _, f := range senders {
		now += backlog(max(0, f.queued()))
	}
	less := now < *b
	*b = now
	return less
}

// Unread tells whether something has come to a receiver that it has not read yet; never where the system does not tell.
func (e *Engine) Unread() bool {
	return slices.ContainsFunc(e.flows, func(f *flow) bool { return f.role == traffic.Receive && f.unread() > 0 })
}

// FlowCounts is what one flow has done.
type FlowCounts struct {
	Role  traffic.Role
	Bytes uint64 // handed to or taken from the socket
	Calls uint64 // messages handed over, or reading calls
	// Missed is how much of a bucket's rate was never sent because the thread woke too late.
	Missed time.Duration
	Held   time.Duration // the same, because its socket was full
	// Ended says that nothing moves any more; Err why, nil for a limit or the
	// peer's end.
	Ended bool
	Err   error
	// ZeroCompleted counts sending calls whose completion came, ZeroCopied those
	// of them that were copied after all.
	ZeroCompleted uint64
	ZeroCopied    uint64
	TCP           *TCPInfo // nil where the system tells nothing
}

// sent is what senders have handed over, and acked what their peers have acknowledged as far as the system tells, in bytes.
func (s Snapshot) sent() (sent, acked uint64) {
	for _, f := range s.Flows {
		if f.Role != traffic.Send {
			continue
		}
		sent += f.Bytes
		if f.TCP != nil {
			acked += f.TCP.BytesAcked
		}
	}
	return sent, acked
}

// TCPInfo is what the system knows of a connection: sums since it was made, and
// its state now (on Linux struct tcp_info in linux/tcp.h).
type TCPInfo struct {
	Congestion         string
	MSS                int // bytes, of what is sent
	PathMTU            int // bytes
	RTT                time.Duration
	RTTVar             time.Duration
	MinRTT             time.Duration // 0: not measured
	CongestionWindow   int           // segments
	SendWindow         int           // bytes that the peer has room for
	Reordering         int           // segments: how far the connection lets them stray
	ReorderSeen        uint32        // times that segments came out of order, as acknowledgements told; wraps
	SendBuffer         int           // bytes
	ReceiveBuffer      int           // bytes
	Retransmits        uint32        // segments; wraps
	SegmentsOut        uint32        // wraps
	SegmentsIn         uint32        // wraps
	BytesRetransmitted uint64
	BytesAcked         uint64
	BytesReceived      uint64
	Busy               time.Duration // there was something to send
	RwndLimited        time.Duration // and no room at the peer
	SndbufLimited      time.Duration // and no room in the send buffer
}

// Snapshot reads the clock next to the counters; what the system knows of the
// connections comes last, because it waits for whoever holds a socket's lock.
func (e *Engine) Snapshot() Snapshot {
	s := e.Counts()
	for i, f := range e.flows {
		s.Flows[i].TCP = f.info()
	}
	return s
}

// Counts is Snapshot without what the system knows of the connections, which
// costs system calls for each.
func (e *Engine) Counts() Snapshot {
	s := Snapshot{At: time.Now(), Flows: make([]FlowCounts, len(e.flows))}
	for i, f := range e.flows {
		s.Flows[i] = FlowCounts{Role: f.role, Bytes: f.bytes.Load(), Calls: f.calls.Load(), Missed: time.Duration(f.missed.Load()), Held: time.Duration(f.held.Load()), Ended: f.ended.Load(), Err: f.err()}
		s.Flows[i].ZeroCompleted, s.Flows[i].ZeroCopied = f.completions()
	}
	s.Send, s.Receive = e.crews[traffic.Send].time(), e.crews[traffic.Receive].time()
	return s
}

func (c *crew) time() traffic.CrewTime {
	var spent traffic.CrewTime
	for _, t := range c.threads {
		spent.Add(traffic.ThreadTime(t.clock.CPU(), t.clock.Wait()))
	}
	return spent
}
