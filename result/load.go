package result

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Offered is what a sender was asked for and how well it kept to it.
type Offered struct {
	TargetBitsPerSecond    float64 `json:"target_bits_per_second,omitempty"` // of payload; 0: as fast as it goes
	TargetPacketsPerSecond float64 `json:"target_packets_per_second,omitempty"`
	BurstPackets           int     `json:"burst_packets,omitempty"` // the declared depth of the pacing
	// Lag is how late each send began after the time it was meant for.
	Lag *Histogram `json:"lag,omitempty"`
	// WaitSeconds is how long the hot threads could run and had no CPU
	// (run delay in /proc/PID/task/TID/schedstat), summed.
	WaitSeconds float64 `json:"wait_seconds"`
	// PathSeconds is the part of it in which the kernel's packet threads had the
	// CPU, or another of these threads: the load's own work, not another program's (WaitedForOwn).
	PathSeconds float64 `json:"path_seconds,omitempty"`
	// MissedSeconds is how much of the window's rate was never sent because the threads woke later than the burst catches up
	// with, in time, the mean of what they send. nil: not known, or they keep no rate.
	MissedSeconds *float64 `json:"missed_seconds,omitempty"`
	// HeldSeconds is the same of what was not sent because a stream's socket was full.
	HeldSeconds float64 `json:"held_seconds,omitempty"`
	// AwaySeconds is how much of the window the system had no way to the receiver, though datagrams or frames had left before: the
	// interface was down, its other end took no live frames any more, or no route led there. The mean of the flows (datagrams) or threads (frames); AwayWhy is what the system
	// said last.
	AwaySeconds float64 `json:"away_seconds,omitempty"`
	AwayWhy     string  `json:"away_why,omitempty"`
	// Refused counts sends that the system turned away: no buffer (ENOBUFS), no room, no way to the receiver.
	Refused uint64 `json:"refused,omitempty"`
	// Unsent counts requests that had their place among those under way and never left, because the socket was full.
	Unsent uint64 `json:"unsent,omitempty"`
	// Method is how packets left: "udp-segment", "sendmmsg", "xdp-live-frames",
	// "af-packet"; Why says why not the better one.
	Method string `json:"method,omitempty"`
	Why    string `json:"why,omitempty"`
	// CalibratedPerSecond is what this generator reaches on this machine with the
	// same load into a sink that costs the path nothing: packets per second, bytes
	// for a stream. 0: not calibrated.
	CalibratedPerSecond float64 `json:"calibrated_per_second,omitempty"`
}

// Wait is how long hot threads could run and had no CPU: see Offered.
type Wait struct {
	Seconds     float64 `json:"seconds"`
	PathSeconds float64 `json:"path_seconds,omitempty"`
}

// Arrived is what became of numbered packets at their receiver. Every number is
// counted once as received, lost, or late; Duplicate and Corrupt are apart:
// Expected = PairEnd.Packets + Lost + Late.
type Arrived struct {
	Expected    uint64  `json:"expected"`         // the numbers that the window's packets span, over all flows
	Lost        uint64  `json:"lost"`             // never came
	Behind      uint64  `json:"behind,omitempty"` // part of Lost: no answer yet when the wait for it was over, of a TCP peer that went on answering
	Late        uint64  `json:"late"`             // came after the receiver's window had given them up
	Reordered   uint64  `json:"reordered"`        // came in time, after a higher number (RFC 4737, section 3)
	Duplicate   uint64  `json:"duplicate"`        // came again
	Corrupt     uint64  `json:"corrupt"`          // payload or header was not what was sent
	SocketDrops uint64  `json:"socket_drops"`     // lost in the receiving socket's buffer (SO_RXQ_OVFL); part of Lost
	Jitter      float64 `json:"jitter_seconds"`   // RFC 3550, section 6.4.1; mean over flows
	// Backlog is by how much the shortest time under way grew from the window's beginning to its end, the mean over
	// flows: a queue that took in more than it gave out. 0 too where the kind does not see it.
	Backlog float64 `json:"backlog_seconds,omitempty"`
	Flows   int     `json:"flows"`
	// Within is how many answers came within the window, to requests of whatever time; nil where that is the packets. A load
	// that falls behind has answers of the window's requests after it, which are in its latencies and in no rate.
	Within *uint64 `json:"within,omitempty"`
	// PerFlow is what came of each; nil where that is not counted.
	PerFlow *PerFlow `json:"per_flow,omitempty"`
	Method  string   `json:"method,omitempty"` // "udp-gro", "recvmmsg", "xdp", "tc", "af-packet"
	Why     string   `json:"why,omitempty"`
	// Raised: the receiver took a higher priority than it was given (the option priority).
	Raised bool `json:"raised_priority,omitempty"`
	// Polled: the receiver asked again for a while before it slept (the option poll of datagrams).
	Polled bool `json:"polled,omitempty"`
	// PollSeconds is for how long it asked and found nothing, summed over its threads: part of the end's CPU time, and no work.
	PollSeconds float64 `json:"poll_seconds,omitempty"`
	// StoodSeconds is for how long its threads stood still, on the mean: the program was stopped, or had no CPU. What came meanwhile waited
	// in its sockets, and is of a longer window or lost.
	StoodSeconds float64 `json:"stood_seconds,omitempty"`
	// PollGain is how many times as many bytes a second came in the warm-up while it polled as while it slept; 0: not tried.
	PollGain float64 `json:"poll_gain,omitempty"`
	// Untold are the figures that whoever counted does not tell: they are not 0.
	Untold []Metric `json:"untold,omitempty"`
}

// PerFlow is how the window's packets are spread over the flows that were asked for.
type PerFlow struct {
	Flows  uint64 `json:"flows"`
	Came   uint64 `json:"came"`   // of those: some packet of theirs came
	Fewest uint64 `json:"fewest"` // packets of one flow; 0 where one did not come
	Most   uint64 `json:"most"`
}

// Add takes one more flow, of which so many packets came.
func (p *PerFlow) Add(packets uint64) {
	one := PerFlow{Flows: 1, Fewest: packets, Most: packets}
	if packets > 0 {
		one.Came = 1
	}
	p.Merge(one)
}

// Merge takes other flows.
func (p *PerFlow) Merge(o PerFlow) {
	switch {
	case o.Flows == 0:
		return
	case p.Flows == 0:
		p.Fewest = o.Fewest
	}
	p.Flows, p.Came = p.Flows+o.Flows, p.Came+o.Came
	p.Fewest, p.Most = min(p.Fewest, o.Fewest), max(p.Most, o.Most)
}

func (p PerFlow) String() string {
	text := fmt.Sprintf("%d, of which %d came", p.Flows, p.Came)
	if p.Came == p.Flows {
		text = fmt.Sprintf("%d, all of which came", p.Flows)
	}
	if p.Fewest == p.Most {
		return text + fmt.Sprintf(", with %d packets each", p.Most)
	}
	return text + fmt.Sprintf(", with %d to %d packets each", p.Fewest, p.Most)
}

// Waited are those of Lost that still waited for their answer, over TCP, which loses none.
func (a Arrived) Waited() uint64 { return min(a.Behind, a.Lost) }

// How is the method in words, with the priority where it was raised; "" where no method is told.
func (a Arrived) How() string {
	how := a.Method
	if how == "" {
		return ""
	}
	if a.Polled {
		how += ", polling"
	}
	if a.Raised {
		how += " at a raised priority"
	}
	if a.Polled && a.PollGain > 0 {
		how += fmt.Sprintf(" (%.2f times as much came so in the warm-up)", a.PollGain)
	}
	return how
}

// Generator is a program of others that makes a load, and how it was run.
type Generator struct {
	Name    string `json:"name"`
	Version string `json:"version"` // as it says; "": it does not
	Command string `json:"command"` // as a person would type it
}

// Frames says what a frame's size means and where it was counted.
type Frames struct {
	Size      float64 `json:"size"`          // bytes of the Ethernet frame, FCS counted (RFC 2544, section 9); the mean of a mix
	WireSize  float64 `json:"wire_size"`     // with preamble, delimiter and gap: Size + 20
	Mix       string  `json:"mix,omitempty"` // the sizes, where frames have several (RFC 6985)
	Layer     string  `json:"layer"`         // what Size describes: "ethernet"
	CountedAt string  `json:"counted_at"`    // "xdp eth0", "tc eth0", "af-packet eth0", "socket"
	Flows     int     `json:"flows"`
}

// Sizes says how large the frames are, with FCS and on the wire.
func (f Frames) Sizes() string {
	size := func(bytes float64) string { return strconv.FormatFloat(math.Round(10*bytes)/10, 'f', -1, 64) }
	text := size(f.Size) + " bytes with FCS, " + size(f.WireSize) + " on the wire with preamble and gap"
	if f.Mix != "" {
		text += ", on the mean of " + f.Mix
	}
	return text
}

// ZeroCopy is what became of sends that asked for no copy (MSG_ZEROCOPY in
// Documentation/networking/msg_zerocopy.rst).
type ZeroCopy struct {
	Method    string `json:"method"`    // "msg-zerocopy", "sendfile", "splice"
	Completed uint64 `json:"completed"` // calls whose completion came in the window
	Copied    uint64 `json:"copied"`    // of them: copied after all (SO_EE_CODE_ZEROCOPY_COPIED)
}

// Tells reports whether the kernel says which calls it copied after all: of MSG_ZEROCOPY alone.
func (z ZeroCopy) Tells() bool { return z.Method == "msg-zerocopy" }

// MarshalJSON leaves out what the kernel does not tell, which is not 0.
func (z ZeroCopy) MarshalJSON() ([]byte, error) {
	type told ZeroCopy // without this method
	if z.Tells() || z.Completed > 0 {
		return json.Marshal(told(z))
	}
	return json.Marshal(map[string]string{"method": z.Method})
}

// Interval is a part of a trial, in seconds since the window began; the warm-up's
// are below zero.
type Interval struct {
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Bytes   uint64  `json:"bytes"`
	Packets uint64  `json:"packets,omitempty"`
	// Within is how many answers came in the interval, to requests of whatever time, as in Arrived; nil where that is the packets. The
	// window's last interval has more packets, where answers came after it, and its first ones fewer, where the warm-up's came in them.
	Within      *uint64 `json:"within,omitempty"`
	Lost        uint64  `json:"lost,omitempty"`
	Retransmits uint64  `json:"retransmits,omitempty"`
	// BackBytes is what the same end moved the other way, of a load that flows both
	// ways, where the interval is told live: Opposite has intervals of its own.
	BackBytes uint64 `json:"back_bytes,omitempty"`
	// Latency is the interval's median and 99th percentile from the intended time.
	LatencyP50 float64 `json:"latency_p50_seconds,omitempty"`
	LatencyP99 float64 `json:"latency_p99_seconds,omitempty"`
}

// InTime is what the interval's rate of packets is of: of a load that waits for answers those that came in it.
func (i Interval) InTime() uint64 {
	if i.Within != nil {
		return *i.Within
	}
	return i.Packets
}

// WaitedForOwn is how long threads of a load can have waited for a CPU, summed over them, because the load itself had it:
// the kernel's packet threads on their node, which took so many seconds, or others of the threads, which ran for so many in
// all. They are dealt to the node's CPUs evenly, so that several have to share one.
func WaitedForOwn(threads, cpus int, ran, kernel float64) float64 {
	waited := kernel
	if threads >= 1 && cpus >= 1 {
		shared := float64((threads + cpus - 1) / cpus)
		waited = shared*kernel + (shared-1)*ran
	}
	if !(waited > 0) { // a node may tell anything, of which the sum is no number, and no record then
		return 0
	}
	return waited
}
