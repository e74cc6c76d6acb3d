package datagram

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"windtunnel/traffic"
)

// Flow is one numbered sequence of datagrams, sent or received by this end.
// Several flows may share a Conn. The engine takes the Conn over, closes it, and
// frees what it took in Engine.Close.
type Flow struct {
	Conn *net.UDPConn
	Role traffic.Role
	ID   uint32 // what the header says; receivers of one Conn tell their flows by it
	// Peer is the other end where Conn is not connected: a sender sends to it, and
	// receivers of one Conn tell their flows by it. A receiver without a Peer on
	// a Conn of its own counts whatever comes, from anywhere.
	Peer netip.AddrPort
	// Source is where a flow that is received is known to come from, though it may come
	// from elsewhere, too: what comes from there and is no datagram of ours is corrupt.
	Source netip.AddrPort
}

// Config is how an engine drives its flows.
type Config struct {
	Message  int    // bytes of UDP payload in a datagram, header included
	Codec    Codec  // nil: datagrams without a header: only Bytes, Packets and Calls are counted
	FirstSeq uint64 // the first datagram's number
	// The rate of each sending flow, in bits of payload or in datagrams; both 0:
	// as fast as it goes. Both set: the lower one. A receiver's buffer depends on it.
	BitsPerSecond, PacketsPerSecond float64
	// Burst is the depth of a thread's token bucket in datagrams: what it may send
	// at once after it was late. 0: what 4 ms bring, at least 2.
	Burst int
	// Together is how many datagrams of a flow leave back to back, the first of them
	// when it is due. 0: they leave one by one, or at a high rate in small batches.
	Together     int
	Segmentation string // "auto" (or ""): UDP_SEGMENT where the path takes it; "off"
	Aggregation  string // "auto" (or ""): UDP_GRO where the kernel has it; "off"
	Threads      int    // hot threads in each direction, at most one a flow; 0: one
	CPUs         []int  // the threads are pinned here, in turn, senders first; empty: not pinned
	Buffer       int    // bytes of a socket's buffers; 0: chosen; below 0: as the socket has them
	// LimitBytes and LimitPackets end the senders after so much over all flows; 0:
	// no limit. With LimitEach each flow may send as much.
	LimitBytes, LimitPackets uint64
	LimitEach                bool
	LimitLater               bool   // what is sent before LimitFrom does not count
	LimitFirst               uint64 // with it: senders that have sent so many datagrams, over all flows, wait for LimitFrom; 0: they do not
	Payload                  []byte // what is sent, again and again, header over its beginning; nil: a pattern
	Verify                   bool   // receivers compare what follows the header with Payload
	Window                   int    // numbers of each flow within which what a receiver gets is in time; 0: 65,536
	// Silence ends a receiving thread, with an error, after so long without a
	// datagram; 0: never.
	Silence time.Duration
	// Patience ends a sender, with an error, whose socket takes nothing for so
	// long; 0: 5 s, below 0: never.
	Patience time.Duration
	GoesOn   bool // a sender to a closed port sends on, instead of ending with what ICMP says
	// GonePatience is for how long a sender does so before it ends, if it does not for good; 0: not at all.
	GonePatience time.Duration
	FailTogether bool   // the first error of a flow ends all
	Spread       bool   // keep the distribution of transit time differences: Engine.Jitter
	KeepPriority bool   // receivers take no higher priority than they are given
	Poll         string // whether a receiver that would take a higher priority polls before it sleeps, in real time: "busy", "block" (or ""), "auto": as its trial under mark 0 tells

	remember int // numbers that a receiver remembers of each flow
}

// FlowCounts is what became of one flow so far. At a sender only Bytes, Packets,
// Calls, Refused, Marked and what is said of Away are counted.
type FlowCounts struct {
	Bytes   uint64 // of UDP payload
	Packets uint64 // sent, or come whole and in time
	Calls   uint64 // system calls of the sender; messages (aggregates) at the receiver
	Refused uint64 // sends that the system turned away for want of room (ENOBUFS) or of a way to the peer
	Sends   bool   // it is a sender's
	// Away is for how long the system had no way to the peer after datagrams had left: the interface was down, or no
	// route led there (ENETDOWN, ENETUNREACH), as AwayWhy says. IsAway: it still has none.
	Away    time.Duration
	IsAway  bool
	AwayWhy error
	IsGone  bool // ICMP said lately that the peer's port is closed
	// Marked is the counts by Engine.SetMark; a sender's Packets only.
	Marked [marks]Marked

	Expected  uint64 // numbers from the first to the highest that came: Packets + Lost + Late
	Lost      uint64 // have not come
	Late      uint64 // came after the window had given them up; also what came again when its number was no longer remembered (1,048,576 behind, of many flows less)
	Reordered uint64 // came in time, after a higher number
	Duplicate uint64
	// Corrupt datagrams were no intact datagrams of ours, though the peer sent
	// them: their numbers are lost, unless they come again. Where the flow cannot
	// be told, the first flow of the socket has it, as it has SocketDrops.
	Corrupt     uint64
	Foreign     uint64 // from somebody else; never counted elsewhere
	Longer      uint64 // of a receiver without a Codec: datagrams longer than Message, of which no more than that is counted
	SocketDrops uint64 // messages for which the socket's buffer was full (what SO_RXQ_OVFL tells); their datagrams are part of Lost
	Highest     uint64 // number that came; below the first where none did
	Jitter      float64
	Backlog     float64 // s: by how much the shortest time under way rose in the window
	// iperf3's own arithmetic: duplicates and late datagrams cancel errors.
	IperfErrors, IperfOutOfOrder int64

	Ended bool  // a sender that reached the limit, or whose socket failed
	Err   error // why it failed
}

// Snapshot is an engine's counters at one instant, flows as they were given.
type Snapshot struct {
	At      time.Time
	Send    traffic.CrewTime
	Receive traffic.CrewTime
	Vain    time.Duration // for how long receiving threads polled and found nothing, summed over them; no more than their CPU time
	Stood   time.Duration // for how long receiving threads stood still, summed over them
	Missed  time.Duration // how much of the rate was never sent because threads woke too late, summed over them
	Flows   []FlowCounts
}

// maxPayload is the largest UDP payload over IPv4 (65,535 - 20 - 8).
const maxPayload = 65507

const defaultWindow = 1 << 16

func (c Config) check(flows []Flow) (Config, error) {
	smallest := 1
	if c.Codec != nil {
		smallest = c.Codec.Size()
	}
	switch {
	case len(flows) == 0:
		return c, fmt.Errorf("an engine needs at least one flow")
	case c.Message < smallest || c.Message > maxPayload:
		return c, fmt.Errorf("a datagram of %d bytes: it must have between %d (its header) and %d", c.Message, smallest, maxPayload)
	case !isOffload(c.Segmentation):
		return c, fmt.Errorf("segmentation %q: it is %q or %q", c.Segmentation, offloadAuto, offloadOff)
	case !isOffload(c.Aggregation):
		return c, fmt.Errorf("aggregation %q: it is %q or %q", c.Aggregation, offloadAuto, offloadOff)
	case c.Window < 0 || c.Window > maxWindow:
		return c, fmt.Errorf("a window of %d numbers: it has at most %d", c.Window, maxWindow)
	}
	if c.Window == 0 {
		c.Window = defaultWindow
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	c.Threads = max(1, c.Threads)
	c.remember = remember(len(flows))
	return c, nil
}

// limit is the lower one of both, in datagrams; 0: none.
func (c Config) limit() uint64 {
	limit := c.LimitPackets
	if c.LimitBytes > 0 {
		byBytes := (c.LimitBytes-1)/uint64(c.Message) + 1
		if limit == 0 || byBytes < limit {
			limit = byBytes
		}
	}
	return limit
}

const (
	offloadAuto     = "auto"
	offloadOff      = "off"
	maxWindow       = 1 << 24
	defaultPatience = 5 * time.Second
)

func isOffload(word string) bool { return word == "" || word == offloadAuto || word == offloadOff }

// packetsPerSecond is the rate of one flow, 0 for none.
func (c Config) packetsPerSecond() float64 {
	byBits := c.BitsPerSecond / 8 / float64(c.Message)
	switch {
	case byBits <= 0:
		return max(0, c.PacketsPerSecond)
	case c.PacketsPerSecond <= 0:
		return byBits
	}
	return min(byBits, c.PacketsPerSecond)
}
