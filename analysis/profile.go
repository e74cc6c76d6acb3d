package analysis

import (
	"iter"
	"sort"

	"windtunnel/result"
)

// full is the busy share from which a CPU counts as full.
const full = result.FullCPU

// Profile is what a cell's trials did, on the mean: the evidence for a cause.
// Shares are of the window, 0 to 1.
type Profile struct {
	Nodes map[string]NodeProfile
	TCP   TCPProfile
}

// NodeProfile is one node's CPUs.
type NodeProfile struct {
	CPUs   []CPUProfile // by number
	Source string       // of the busy time
	Steal  float64      // of all CPUs
}

// CPUProfile is one CPU's use.
type CPUProfile struct {
	CPU                                     int
	Busy, User, System, Softirq, IRQ, Steal float64
}

// TCPProfile is what the senders' connections waited for, as shares of the time in
// which they had data under way (linux/tcp.h: tcpi_busy_time and its parts).
type TCPProfile struct {
	Known          bool
	ReceiverWindow float64
	SendBuffer     float64
}

// Fullest is the busiest CPU of the node.
func (n NodeProfile) Fullest() (CPUProfile, bool) {
	if len(n.CPUs) == 0 {
		return CPUProfile{}, false
	}
	best := n.CPUs[0]
	for _, c := range n.CPUs[1:] {
		if c.Busy > best.Busy {
			best = c
		}
	}
	return best, true
}

// Saturated reports whether every CPU of the node was full: more work could not
// have been done there, however it was spread.
func (n NodeProfile) Saturated() bool {
	for _, c := range n.CPUs {
		if c.Busy < full {
			return false
		}
	}
	return len(n.CPUs) > 0
}

func profileOf(trials []result.Trial) Profile {
	p := Profile{Nodes: map[string]NodeProfile{}}
	samples := map[string][]result.NodeSample{}
	for _, t := range trials {
		for name, s := range t.Nodes {
			if s.WindowSeconds > 0 {
				samples[name] = append(samples[name], s)
			}
		}
	}
	for name, s := range samples {
		p.Nodes[name] = nodeProfile(s)
	}
	p.TCP = tcpProfile(trials)
	return p
}

func nodeProfile(samples []result.NodeSample) NodeProfile {
	var n NodeProfile
	byNumber := map[int]*CPUProfile{}
	for _, s := range samples {
		n.Source = s.CPUSource
		for _, c := range s.CPUs {
			if byNumber[c.CPU] == nil {
				byNumber[c.CPU] = &CPUProfile{CPU: c.CPU}
			}
			byNumber[c.CPU].add(c, 1/(s.WindowSeconds*float64(len(samples))))
		}
	}
	for _, c := range byNumber {
		n.CPUs = append(n.CPUs, *c)
		n.Steal += c.Steal / float64(len(byNumber))
	}
	sort.Slice(n.CPUs, func(i, j int) bool { return n.CPUs[i].CPU < n.CPUs[j].CPU })
	return n
}

func (p *CPUProfile) add(c result.CPUSample, weight float64) {
	p.Busy += c.Busy * weight
	p.User += c.User * weight
	p.System += c.System * weight
	p.Softirq += c.Softirq * weight
	p.IRQ += c.IRQ * weight
	p.Steal += c.Steal * weight
}

func tcpProfile(trials []result.Trial) TCPProfile {
	var busy, window, buffer float64
	for c := range connections(trials) {
		busy += c.BusySeconds
		window += c.RwndLimitedSeconds
		buffer += c.SndbufLimitedSeconds
	}
	if busy <= 0 {
		return TCPProfile{}
	}
	return TCPProfile{Known: true, ReceiverWindow: window / busy, SendBuffer: buffer / busy}
}

// connections are those of the senders, in every direction of the loads.
func connections(trials []result.Trial) iter.Seq[result.Connection] {
	return func(yield func(result.Connection) bool) {
		for _, t := range trials {
			for _, p := range t.Pairs {
				for _, end := range p.Senders() {
					for _, c := range end.Connections {
						if !yield(c) {
							return
						}
					}
				}
			}
		}
	}
}
