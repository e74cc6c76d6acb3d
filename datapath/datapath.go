// Package datapath is the interface of a path: what lies between two endpoints,
// as pieces of a testbed graph. Each path is one folder beside this file and one
// line in paths/. Paths make no kernel call of their own.
package datapath

import (
	"windtunnel/result"
	"windtunnel/testbed"
)

// Existing is the name of the path between places that run already, the only one that they take.
const Existing = "existing"

// Path lays out one kind of path.
type Path interface {
	Name() string
	// Says is one line for `windtunnel list`.
	Says() string
	// Options are the keys it takes beside kind in a suite's path block.
	Options() []result.Option
	// Lay returns the graph of a cell. An error is the suite's fault: an MTU
	// that cannot be, a place that this path cannot serve.
	Lay(Request) (Laid, error)
}

// OverHosts tells whether a path can be laid between real hosts, whose wire is found: those say so by a
// method OverHosts.
func OverHosts(p Path) bool {
	_, able := p.(interface{ OverHosts() })
	return able
}

// NotOverHosts is why a path cannot be laid between them, in a user's words: those that cannot say so by a method
// NotOverHosts. "" of any other.
func NotOverHosts(p Path) string {
	if refusing, does := p.(interface{ NotOverHosts() string }); does {
		return refusing.NotOverHosts()
	}
	return ""
}

// InPlace tells whether such a path is laid in the hosts' own stacks, where container engines are that run already,
// and leaves the interfaces for data where and as they are: those say so by a method InPlace.
func InPlace(p Path) bool {
	_, in := p.(interface{ InPlace() })
	return in
}

// Plain tells whether such a path can have nothing built on hosts, so that these may be other systems than Linux: those say
// so by a method Plain. Whether a request is one is in its InPlace.
func Plain(p Path) bool {
	_, able := p.(interface{ Plain() })
	return able
}

// Bare is the path that a path is without its encapsulation: those that are made of another one say so by a method Bare.
func Bare(p Path) (name string, ok bool) {
	if wrapped, able := p.(interface{ Bare() string }); able {
		return wrapped.Bare(), true
	}
	return "", false
}

// Request is what a cell asks of its path.
type Request struct {
	Cell  string
	Pairs []result.Pair
	Nodes []testbed.Node // every node of the suite, with its CPUs
	Wire  Wire
	// InPlace says that real hosts' nodes are the hosts' own stacks, with everything as it is: one of them is no Linux, or the
	// suite uses more than two at once, each with one interface for all its wires.
	InPlace      bool
	Segmentation Segmentation
	Checksum     string // of the endpoints' interfaces: ChecksumSoftware, else as found
	VM           VM     // of the endpoints that are virtual machines
	Options      result.Options
	// Missing is what the nodes' kernels lack of testbed.Features, with the reason.
	Missing map[string]string
	// Frames says that raw frames enter at the senders' interfaces by XDP.
	Frames bool
	// OnlyFrames says that no endpoint needs an interface of its own for other loads.
	OnlyFrames bool
	// Generator is the program of others that sends the frames, at ports of poll mode; its zero value
	// is none.
	Generator Program
}

// Wire is the link between nodes.
type Wire struct {
	Kind   string // nic or memory; between real hosts testbed.WireNetwork
	MTU    int    // bytes of an IP packet
	Queues int    // 0: one for each CPU of the node with fewer
	VMQ    string // on, off; auto or empty: left to the path
	Spread string // none, receive, send, both; auto or empty: left to the path
	GRO    string // on, off; auto or empty: as its kind has it
	Steer  string // sender; auto or empty: received on the receiving node's CPUs

	BitsPerSecond float64 // of a token bucket at each end; 0: none
	Loss          float64 // the share of what arrives that a rule drops
}

// VM is what each virtual machine has.
type VM struct {
	CPUs        int
	MemoryBytes int64
	Queues      int // of each interface
}

// Segmentation says what offloads the links have.
type Segmentation string

// As found: links inside a node keep the kernel's defaults. No LSO: endpoints cut
// what they send to the MTU themselves, and receivers still aggregate. Off: no TSO,
// GSO or GRO anywhere, so every hop handles every packet.
const (
	SegmentationFound Segmentation = "as-found"
	SegmentationNoLSO Segmentation = "no-lso"
	SegmentationOff   Segmentation = "off"
)

// Laid is a laid-out path.
type Laid struct {
	Graph     testbed.Graph
	Addresses map[string]string // place name -> the IP at which traffic reaches it
	ByPair    []string          // by pair: the IP at which its receiver listens, where a place has several; none, or all
	Published []Published       // by pair: where its receiver is reached if not at its address; none, or all
	MTU       result.MTU
	Queueing  *result.Queueing     // what the suite asks of the wire's queues; nil: nothing
	Wired     *result.WireSettings // what the suite asks of the wire beside its queues; nil: nothing
	Facts     map[string]string    // for the report: encapsulation, overhead in bytes
	Doubts    []result.Doubt       // what makes any figure of the path less sure
	Programs  []Program            // that this cell needs beside those of every cell of the path
	// Options are the path's as they were taken, where it chose some by itself; nil: as they were asked for.
	Options result.Options
	// NotHere says why the hosts, which are not changed for it, are not as the cell asks; "": they are.
	NotHere string
}
