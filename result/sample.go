package result

// PairSample is what both ends of one pair saw in the window.
type PairSample struct {
	From     string  `json:"from"` // place names
	To       string  `json:"to"`
	Sender   PairEnd `json:"sender"`
	Receiver PairEnd `json:"receiver"`
	Beside   *Beside `json:"beside,omitempty"` // the probe that ran beside the load
	Limit    *Limit  `json:"limit,omitempty"`  // what bounded the pair's traffic
}

// Beside is a light second load between the same places: latency under load.
type Beside struct {
	Kind     string  `json:"kind"`
	Sender   PairEnd `json:"sender"`
	Receiver PairEnd `json:"receiver"`
}

// PairEnd is one end of a pair: a worker's own counts over its own window. Bytes
// are payload handed to or taken from the socket; Packets are datagrams, frames or
// transactions, where the load has them.
type PairEnd struct {
	WindowSeconds float64 `json:"window_seconds"` // really taken, by this end's clock
	Bytes         uint64  `json:"bytes"`
	Packets       uint64  `json:"packets,omitempty"`
	Calls         uint64  `json:"calls"`
	CPUSeconds    float64 `json:"cpu_seconds"` // of the worker's hot threads
	Threads       int     `json:"threads"`
	// BusiestSeconds is the CPU time of the thread that used most, where there are several: the others may have fewer flows.
	BusiestSeconds float64 `json:"busiest_seconds,omitempty"`
	// StoodSeconds is for how long the program of a stream's end, or of one of requests, stood still in the window: it was stopped, or had
	// no CPU. The end of packets has Arrived's.
	StoodSeconds float64 `json:"stood_seconds,omitempty"`

	Connections []Connection `json:"connections,omitempty"`
	Error       string       `json:"error,omitempty"`

	// Generator is the program of others that was this end, nil for our own engine; Told is what
	// a sender's tells of the receiver, which is there when the ends have been put together.
	Generator *Generator `json:"generator,omitempty"`
	Told      *PairEnd   `json:"told,omitempty"`

	Stolen    *Stolen              `json:"stolen,omitempty"`   // of one-off traffic: a suite's nodes tell of each CPU
	Opposite  *PairEnd             `json:"opposite,omitempty"` // the other direction of a load that flows both ways: what this end took as a receiver, or sent as one
	Offered   *Offered             `json:"offered,omitempty"`  // of a sender
	Waited    *Wait                `json:"waited,omitempty"`   // of a receiver's threads; a sender's is in Offered
	Arrived   *Arrived             `json:"arrived,omitempty"`  // of a receiver of numbered packets
	Frames    *Frames              `json:"frames,omitempty"`   // of the load frame
	Cycles    *Cycles              `json:"cycles,omitempty"`   // of a worker that polls
	ZeroCopy  *ZeroCopy            `json:"zero_copy,omitempty"`
	Latencies map[string]Histogram `json:"latencies,omitempty"` // by LatencyIntended, LatencyActual; of frames the receiver's
	Intervals []Interval           `json:"intervals,omitempty"`
}

// Asks tells of a sender whether it asks, and waits for answers: no other one has latencies.
func (e PairEnd) Asks() bool { return len(e.Latencies) > 0 }

// PerSecond is the end's rate in the unit of Offered.CalibratedPerSecond: packets,
// bytes where the load counts none. 0 without a window.
func (e PairEnd) PerSecond() float64 {
	switch {
	case !(e.WindowSeconds > 0):
		return 0
	case e.Packets > 0, e.Arrived != nil && e.Arrived.Within != nil:
		return float64(e.InWindow()) / e.WindowSeconds
	}
	return float64(e.Bytes) / e.WindowSeconds
}

// InWindow is what its packets' rate is of: the packets, but of a load that waits for answers those that came within the window.
func (e PairEnd) InWindow() uint64 {
	if e.Arrived != nil && e.Arrived.Within != nil {
		return *e.Arrived.Within
	}
	return e.Packets
}

// Idle tells of a sender that it sent nothing. One that waits for answers did send what these were to, whatever the window's requests wait for.
func (e PairEnd) Idle() bool { return e.Bytes == 0 && e.Packets == 0 && e.InWindow() == 0 }

// Stolen is the CPU of an end's host of which a hypervisor took most in the window.
type Stolen struct {
	CPU   int     `json:"cpu"`
	Share float64 `json:"share"` // of the window, 0 to 1
}

// Connection is TCP_INFO over the window: counts are differences between its
// two ends, the rest the state at its end (linux/tcp.h, struct tcp_info).
type Connection struct {
	Congestion           string  `json:"congestion"`
	MSS                  int     `json:"mss"`
	RTTSeconds           float64 `json:"rtt_seconds"`
	MinRTTSeconds        float64 `json:"min_rtt_seconds"`
	CongestionWindow     int     `json:"congestion_window"` // packets
	Retransmits          uint64  `json:"retransmits"`       // segments
	BytesRetransmitted   uint64  `json:"bytes_retransmitted"`
	SegmentsOut          uint64  `json:"segments_out"`
	SegmentsIn           uint64  `json:"segments_in"`
	BusySeconds          float64 `json:"busy_seconds"`
	RwndLimitedSeconds   float64 `json:"rwnd_limited_seconds"`
	SndbufLimitedSeconds float64 `json:"sndbuf_limited_seconds"`
	SendBufferBytes      int     `json:"send_buffer_bytes"`
	ReceiveBufferBytes   int     `json:"receive_buffer_bytes"`
}

// NodeSample is what one node's probes saw in the window. CPUs are the node's
// own; a probe that could not be read leaves its reason in Missing, by probe name.
type NodeSample struct {
	WindowSeconds float64 `json:"window_seconds"` // between the two readings
	CPUSource     string  `json:"cpu_source"`     // hardware-cycles, idle-clock or tick; system-times on Windows and macOS
	// Machine is the same in the samples of nodes whose CPUs are one machine's, where those of one number are one CPU.
	Machine string      `json:"machine,omitempty"`
	Hertz   float64     `json:"hertz,omitempty"` // reference cycles a second; 0: not known
	CPUs    []CPUSample `json:"cpus,omitempty"`
	// KernelThreadSeconds is the CPU time of the kernel's packet threads on the
	// node's CPUs: ksoftirqd and NAPI's.
	KernelThreadSeconds float64 `json:"kernel_thread_seconds"`
	// ReceiveAway is what the threads that receive for the cell's interfaces here took of CPUs that are not the node's,
	// in seconds; nil: not known, or there are no such threads.
	ReceiveAway     *float64          `json:"receive_away_seconds,omitempty"`
	ContextSwitches uint64            `json:"context_switches"`
	Interrupts      uint64            `json:"interrupts"`
	Softnet         Softnet           `json:"softnet"`
	MemoryBytes     uint64            `json:"memory_bytes,omitempty"` // in use at the window's end
	Links           []LinkSample      `json:"links,omitempty"`
	Stacks          []StackSample     `json:"stacks,omitempty"`
	Switches        []SwitchSample    `json:"switches,omitempty"`
	Pulls           []Pull            `json:"pulls,omitempty"` // cables that were pulled here
	VMs             []VMSample        `json:"vms,omitempty"`
	Missing         map[string]string `json:"missing,omitempty"`
	// Intervals are the CPUs over time, within the window; empty where only the tick tells of them.
	Intervals []CPUInterval `json:"intervals,omitempty"`
}

// CPUInterval is a part of a node's window, in seconds since it began, and the share of it, 0 to 1, that each
// CPU was busy, in the order of NodeSample.CPUs.
type CPUInterval struct {
	From float64   `json:"from"`
	To   float64   `json:"to"`
	Busy []float64 `json:"busy"`
}

// Pull is a cable that was pulled at this node, in seconds since the window began.
type Pull struct {
	Link   string  `json:"link"`
	Device string  `json:"device"`
	From   float64 `json:"from"`
	To     float64 `json:"to"`
}

// StealLimit is the share of a CPU's time, stolen by the hypervisor, over which a trial does not count: what is
// stolen from one node's CPU only is no property of a path, and packets that come meanwhile find queues full.
const StealLimit = 0.05

// CPUSample is one CPU's time in the window, in seconds. Busy comes from
// NodeSample.CPUSource; the split from /proc/stat, whose ticks are coarse.
type CPUSample struct {
	CPU     int     `json:"cpu"`
	Busy    float64 `json:"busy"`
	User    float64 `json:"user"`
	System  float64 `json:"system"`
	Softirq float64 `json:"softirq"`
	IRQ     float64 `json:"irq"`
	Idle    float64 `json:"idle"`
	Steal   float64 `json:"steal"`
	// Processed are the packets that the network stack received on this CPU, once at every device; nil:
	// not known.
	Processed *uint64 `json:"processed_packets,omitempty"`
	// Receive is what the kernel threads took that receive for the cell's interfaces (threaded NAPI) and
	// have this CPU alone, by their own clocks, in seconds; nil where there are none.
	Receive *float64 `json:"receive,omitempty"`
}

// Softnet sums /proc/net/softnet_stat over the node's CPUs.
type Softnet struct {
	Processed uint64 `json:"processed"`
	Dropped   uint64 `json:"dropped"`
	Squeezed  uint64 `json:"squeezed"`
}

// The roles of a link on a path.
const (
	RoleWire     = "wire"     // between the nodes
	RoleEndpoint = "endpoint" // the endpoint's own interface
	RoleInner    = "inner"    // all else inside a node
)

// LinkSample is one interface's counters over the window.
type LinkSample struct {
	Place          string `json:"place"` // the node's or container's name
	Device         string `json:"device"`
	Role           string `json:"role"`
	RxPackets      uint64 `json:"rx_packets"`
	RxBytes        uint64 `json:"rx_bytes"`
	RxDropped      uint64 `json:"rx_dropped"`
	RxErrors       uint64 `json:"rx_errors"`
	TxPackets      uint64 `json:"tx_packets"`
	TxBytes        uint64 `json:"tx_bytes"`
	TxDropped      uint64 `json:"tx_dropped"`
	TxErrors       uint64 `json:"tx_errors"`
	CarrierChanges uint64 `json:"carrier_changes,omitempty"` // the link went down or came back
	// RxQueues are the packets of each receive queue, where the driver tells.
	RxQueues []uint64 `json:"rx_queue_packets,omitempty"`
	// Of an end of a virtual pair: packets that its NAPI received, and frames of XDP that it sent; nil: not known, or another driver.
	RxNAPI *uint64 `json:"rx_napi_packets,omitempty"`
	TxXDP  *uint64 `json:"tx_xdp_packets,omitempty"`
	// Settings are read back before the window; nil: not known.
	Settings *LinkSettings `json:"settings,omitempty"`
}

// LinkSettings is what the kernel says an interface is set to, whatever was asked for.
type LinkSettings struct {
	MTU int      `json:"mtu"`
	On  []string `json:"on"` // offloads, as words: TSO, GSO, GRO, ...
}

// The offloads that decide how long packets are and who sums them.
const (
	OffloadTSO        = "TSO"
	OffloadGSO        = "GSO"
	OffloadGRO        = "GRO"
	OffloadTxChecksum = "tx checksum"
)

// StackSample is one network stack's IP and TCP counters over the window. Packets
// are counted as the stack saw them: an aggregate of many segments is one.
type StackSample struct {
	Place         string `json:"place"`
	InPackets     uint64 `json:"in_packets"`
	InBytes       uint64 `json:"in_bytes"`
	OutPackets    uint64 `json:"out_packets"`
	OutBytes      uint64 `json:"out_bytes"`
	InDiscards    uint64 `json:"in_discards"`
	InNoRoutes    uint64 `json:"in_no_routes"`
	InCsumErrors  uint64 `json:"in_csum_errors"`
	TCPRetransmit uint64 `json:"tcp_retransmitted_segments"`
	ListenDrops   uint64 `json:"listen_drops"`
}

// SwitchSample is what a switch that names its drops counted over the window.
type SwitchSample struct {
	Switch   string            `json:"switch"`
	Received uint64            `json:"received"`
	Sent     uint64            `json:"sent"` // forwarded, answered, or passed to the host
	Drops    map[string]uint64 `json:"drops,omitempty"`
	Counts   map[string]uint64 `json:"counts,omitempty"`  // what else it counts, in its words
	Polling  *Polling          `json:"polling,omitempty"` // of one that polls
	Error    string            `json:"error,omitempty"`
}

// Polling is what a switch's cores that poll spent in the window. Such a core is never idle as others
// see it.
type Polling struct {
	Cores int    `json:"cores"`
	Busy  uint64 `json:"busy_cycles"` // of rounds that found packets
	Idle  uint64 `json:"idle_cycles"` // of the others
	Hertz uint64 `json:"hertz"`       // cycles a second
	// Stages are the cycles of some of the busy rounds by what they went to, and Timed those rounds'
	// packets; absent where the switch does not tell.
	Timed  uint64            `json:"timed_packets,omitempty"`
	Stages map[string]uint64 `json:"stage_cycles,omitempty"`
}
