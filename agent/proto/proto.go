// Package proto holds the messages between the conductor, node agents and
// endpoint workers, as types only. PROTOCOL.md beside this file describes them;
// they are newline-delimited JSON over any byte stream and can be typed by hand.
package proto

import (
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/traffic"
)

// Version is the protocol's version. Peers of another version refuse each other.
const Version = 1

// MaxMessage bounds one line, in bytes, newline included.
const MaxMessage = 4 << 20

// MaxValues bounds what is in a line: records that are empty are a hundred times as large in memory.
const MaxValues = result.MaxLineValues

// Hello is the first line that an agent writes.
type Hello struct {
	Windtunnel   int                `json:"windtunnel"` // Version
	Role         string             `json:"role"`       // node or worker
	Release      string             `json:"release"`
	PID          int                `json:"pid"`
	Capabilities []string           `json:"capabilities"` // the verbs it takes
	Fingerprint  result.Fingerprint `json:"fingerprint,omitempty"`
	Place        *Place             `json:"place,omitempty"` // of an agent in a place that runs already
}

// Place is what an agent tells of the place that it was started in.
type Place struct {
	// Machine is the same in all places of one running kernel, and Stack in those of one network stack; empty: not known.
	Machine   string    `json:"machine,omitempty"`
	Stack     string    `json:"stack,omitempty"`
	CPUs      []int     `json:"cpus"` // the machine's, as far as the place sees them
	Addresses []Address `json:"addresses"`
}

// Address is one that traffic can come to.
type Address struct {
	Device string `json:"device"`
	Prefix string `json:"prefix"` // 10.0.0.2/24
	MTU    int    `json:"mtu"`    // of the device, in bytes
	// Default says that packets for anywhere leave by the device.
	Default bool `json:"default,omitempty"`
}

// The verbs of a Request. A worker takes prepare, start, result, probe,
// calibrate and stop.
const (
	DoPlace     = "place"     // make the stacks of a graph, answer where they are
	DoApply     = "apply"     // make the graph live, by diff
	DoVerify    = "verify"    // compare the live state with the graph
	DoProbe     = "probe"     // check that a pair can talk at full size
	DoPrepare   = "prepare"   // make one end of a pair ready
	DoStart     = "start"     // run the prepared workers of a cell, sample the node
	DoResult    = "result"    // wait for the trial's end, answer what was measured
	DoStop      = "stop"      // drop prepared or running workers of a cell, end its building
	DoCalibrate = "calibrate" // tell how fast a generator is by itself
	DoSettle    = "settle"    // give a virtual machine's interfaces what they are to have
	DoFound     = "found"     // tell what container engines made of a cell by themselves
	DoLook      = "look"      // tell what this host can do
	DoHeartbeat = "heartbeat" // the conductor lives
	DoSurvey    = "survey"    // tell what the network stack of a place that runs already has
	DoMeet      = "meet"      // have a sender at a port reach a receiver on another host
	DoCarry     = "carry"     // take bytes of such a connection, or tell what its end here said
)

// MaxCarry bounds what one message has of a connection that is carried, in bytes.
const MaxCarry = 4 << 10

// Carry is of one connection whose two ends are on two hosts, which the conductor carries. A request with bytes, or that says that
// the other end is through, is answered when they are written; one without is answered with what this end said, or with
// nothing if that takes longer than 2 s.
type Carry struct {
	// Address is the traffic.Meeting that names the connection on the node: as its receiver told of it, or as meet answered.
	Address string `json:"address,omitempty"`
	Bytes   []byte `json:"bytes,omitempty"`
	Ended   bool   `json:"ended,omitempty"` // the end is through: the connection is forgotten
}

// Request is one line to an agent; the fields that its verb needs are set.
type Request struct {
	ID    int               `json:"id"`
	Do    string            `json:"do"`
	Cell  string            `json:"cell,omitempty"`
	Graph *testbed.Graph    `json:"graph,omitempty"` // place, apply
	Peers map[string]string `json:"peers,omitempty"` // apply: other nodes' stacks, as answered by their place
	Place string            `json:"place,omitempty"` // prepare, probe: which endpoint
	Pair  int               `json:"pair,omitempty"`  // prepare: which pair, from 0
	Order *traffic.Order    `json:"order,omitempty"` // prepare, calibrate
	// Beside says that the order is the pair's light load beside its traffic.
	Beside bool   `json:"beside,omitempty"` // prepare
	Probe  *Probe `json:"probe,omitempty"`  // probe
	Start  *Start `json:"start,omitempty"`  // start
	// Programs are those that cells need, by name.
	Programs []string `json:"programs,omitempty"` // look
	// Engine is the socket of the host's own container engine, if cells need it.
	Engine string `json:"engine,omitempty"` // look
	Carry  *Carry `json:"carry,omitempty"`  // meet, carry
	// Interfaces are those of the machine that the worker is in.
	Interfaces []testbed.Interface `json:"interfaces,omitempty"` // settle, verify
	// Container is the one that the worker is in there; nil: none.
	Container *testbed.GuestContainer `json:"container,omitempty"` // settle, verify
}

// Start runs the prepared workers: InSeconds from the message's arrival on every
// side, so clocks need not agree.
type Start struct {
	InSeconds     float64 `json:"in_seconds"`
	WarmUpSeconds float64 `json:"warmup_seconds"`
	WindowSeconds float64 `json:"window_seconds"`
	// IntervalSeconds is the length of the interval records of ends, and of a node's CPUs; 0: none.
	IntervalSeconds float64 `json:"interval_seconds,omitempty"`
	// Alone asks for the ends' own figures and no more: the nodes are read before the window and after it, and no end goes on
	// longer for them.
	Alone bool `json:"alone,omitempty"`
	// Profile asks a node for the stacks that its CPUs are in during the window.
	Profile bool `json:"profile,omitempty"`
}

// Probe asks one end of a path to answer (Role receive: open the sockets) or to
// try it (Role send): TCP and UDP payloads that fill the MTU, checked by hash,
// which pings are not (calico#3145: packets with unfinished checksums pass ICMP).
type Probe struct {
	Role    traffic.Role `json:"role"`
	Address string       `json:"address"` // receive: the IP to bind; send: IP:port of TCP and UDP
	MTU     int          `json:"mtu"`     // the largest IP packet that must pass unfragmented; 0: TCP alone is tried
	// Port is the place's port of poll mode, nil if it has an interface. The agent sets it. At a
	// port, frames that fill the MTU are tried, their checksums too.
	Port *traffic.Port `json:"port,omitempty"`
	// Generator is the program of others that sends at the sender's port, "" for our own engine.
	Generator string `json:"generator,omitempty"`
}

// Reply is the one line that answers a Request.
type Reply struct {
	ID      int               `json:"id"`
	Error   string            `json:"error,omitempty"`
	Stacks  map[string]string `json:"stacks,omitempty"`  // place: a path of each stack's network namespace
	Address string            `json:"address,omitempty"` // prepare, probe of a receiver: IP:port
	Trial   *NodeTrial        `json:"trial,omitempty"`   // result
	Ends    []WorkerEnd       `json:"ends,omitempty"`    // result of a worker
	// PerSecond answers calibrate; 0: this kind cannot tell.
	PerSecond float64       `json:"per_second,omitempty"`
	Found     string        `json:"found,omitempty"` // found: text, a line each
	Host      *Host         `json:"host,omitempty"`  // look
	Seen      *testbed.Seen `json:"seen,omitempty"`  // survey
	Carry     *Carry        `json:"carry,omitempty"` // meet, carry
	// Machine is what the machine saw in the window that the worker is in; result of a worker of a VM.
	Machine *result.NodeSample `json:"machine,omitempty"`
}

// Host is what there is to plan with: what a node's machine has and can do.
type Host struct {
	// System is what runs there, if that is no Linux: Windows 10.0.22631.
	System      string            `json:"system,omitempty"`
	CPUs        []int             `json:"cpus"` // that the agent may use
	MemoryBytes int64             `json:"memory_bytes"`
	Kernel      string            `json:"kernel"`             // its release: 6.18.44
	Missing     map[string]string `json:"missing,omitempty"`  // features of testbed.Features that it lacks, with the reason
	Programs    map[string]string `json:"programs,omitempty"` // of those asked for, the missing ones, with the reason
	Unfit       map[string]string `json:"unfit,omitempty"`    // of those that are there, which do not start, with the reason
	NIC         *NIC              `json:"nic,omitempty"`      // its end of the wire, if it is a real host's node
	NoNIC       string            `json:"no_nic,omitempty"`   // why there is none
	Members     []NIC             `json:"members,omitempty"`  // its ends of further wires, for cells that take several
	// Engine is its container engine, if one was asked for, and NoEngine why there is none.
	Engine   *testbed.HostEngine `json:"engine,omitempty"`
	NoEngine string              `json:"no_engine,omitempty"`
}

// NIC is the interface for data of a real host.
type NIC struct {
	testbed.NIC
	Driver        string  `json:"driver,omitempty"`
	BitsPerSecond float64 `json:"bits_per_second,omitempty"` // 0: it does not say
}

// NodeTrial is one node's part of a trial.
type NodeTrial struct {
	Ends   []WorkerEnd       `json:"ends"`
	Sample result.NodeSample `json:"sample"`
	// Profile is there when start asked for it.
	Profile *result.Profile `json:"profile,omitempty"`
}

// WorkerEnd is one worker's result: which end of which pair.
type WorkerEnd struct {
	Pair   int            `json:"pair"`
	Beside bool           `json:"beside,omitempty"`
	Role   traffic.Role   `json:"role"`
	Place  string         `json:"place"`
	End    result.PairEnd `json:"end"`
	Error  string         `json:"error,omitempty"` // the worker failed or died
}
