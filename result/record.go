package result

// Format is the version of the run file. A reader takes its own version and
// older ones; fields are only ever added within a version.
const Format = 1

// The kinds of lines in a run file, in the field "record".
const (
	RecordRun     = "run"
	RecordCell    = "cell"
	RecordSearch  = "search"
	RecordLatency = "latency"
	RecordTrial   = "trial"
	RecordProfile = "profile"
	RecordEqual   = "equal-rate"
	RecordEnd     = "end"
)

// Run is the first line of a run file: what was asked, of whom, and how. With
// the cells that follow it, a report needs neither the suite nor the machine.
type Run struct {
	Record     string            `json:"record"`
	Format     int               `json:"format"`
	Suite      string            `json:"suite"`
	Asks       string            `json:"asks,omitempty"`
	Source     string            `json:"source,omitempty"`
	ID         string            `json:"run"`
	Seed       uint64            `json:"seed"`
	StartedAt  string            `json:"started_at"` // RFC 3339
	Command    []string          `json:"command,omitempty"`
	Version    string            `json:"version"` // of windtunnel
	Simulated  bool              `json:"simulated_nodes"`
	Nodes      []RunNode         `json:"nodes"`
	Foreign    string            `json:"foreign,omitempty"` // the tool that measured, where that was not windtunnel: "iperf3 3.12"
	Wire       string            `json:"wire"`              // nic, memory or network
	Plan       Plan              `json:"plan"`
	Ratios     []Ratio           `json:"ratios"`
	Hypotheses []Hypothesis      `json:"hypotheses,omitempty"`
	Assumed    map[string]string `json:"assumed,omitempty"` // what the source had, for the report to compare
	Doubts     []Doubt           `json:"doubts,omitempty"`  // known before the first trial
	Why        *Why              `json:"why,omitempty"`     // the ratio whose suspects are tried; nil: none
}

// RunNode is one node of the run.
type RunNode struct {
	Name        string      `json:"name"`
	CPUs        []int       `json:"cpus"`
	Shared      bool        `json:"shared_cpus,omitempty"` // its CPUs also serve another node
	Host        string      `json:"host,omitempty"`        // the real host that it is, as the user named it
	Exec        []string    `json:"exec,omitempty"`        // how a place that ran already was entered; empty: the testbed made the node
	Fingerprint Fingerprint `json:"fingerprint"`
}

// Plan is how the run meant to spend its time.
type Plan struct {
	BudgetSeconds float64 `json:"budget_seconds"`
	Precision     float64 `json:"precision"` // relative half-width at which a ratio is known: 0.05
	WarmupSeconds float64 `json:"warmup_seconds"`
	WindowSeconds float64 `json:"window_seconds"`
	BlocksPlanned int     `json:"blocks_planned"`
	MinimumBlocks int     `json:"minimum_blocks"`
	// RebuildSeconds is what building a cell anew takes, where one cell stands at a time; 0: all stand.
	RebuildSeconds float64 `json:"rebuild_seconds,omitempty"`
	// Profile says that stacks are sampled in the windows of blocks.
	Profile bool `json:"profile,omitempty"`
}

// Hypothesis is a sentence that the run's data and the published data are each
// asked about. NotMeasured holds the unmet requirement, if there is one.
type Hypothesis struct {
	ID          string    `json:"id"`
	Says        string    `json:"says"`
	Holds       Predicate `json:"holds"`
	NotMeasured string    `json:"not_measured,omitempty"`
	Parallelism bool      `json:"parallelism,omitempty"` // never judged where a full CPU decides it
}

// Cell is one configuration that is measured, resolved: nothing is left to look
// up. Skipped holds the unmet requirement of a cell that cannot run here, Failed
// why its testbed could not be built.
type Cell struct {
	Record       string            `json:"record"`
	Name         string            `json:"cell"`
	Says         string            `json:"says,omitempty"`
	Path         string            `json:"path"`
	PathOptions  Options           `json:"path_options,omitempty"`
	Traffic      string            `json:"traffic"`
	Load         Options           `json:"load"`
	Find         *Find             `json:"find,omitempty"`   // the search for the load's rate
	Beside       string            `json:"beside,omitempty"` // the kind of the load beside it
	BesideLoad   Options           `json:"beside_load,omitempty"`
	Segmentation string            `json:"segmentation"`       // as-found, no-lso or off
	Checksum     string            `json:"checksum,omitempty"` // software: the endpoints' stacks finish checksums themselves
	Wire         string            `json:"wire"`
	Queueing     *Queueing         `json:"queueing,omitempty"`      // nil: the path's own
	Wired        *WireSettings     `json:"wire_settings,omitempty"` // nil: nothing was asked of it
	MTU          MTU               `json:"mtu"`
	Pairs        []Pair            `json:"pairs"`
	Topology     string            `json:"topology"`         // as `windtunnel plan` draws it
	Layout       map[string]string `json:"layout,omitempty"` // what the path adds: encapsulation, bytes of overhead
	// Configuration is every program that the path runs, as a person would type it.
	Configuration string `json:"configuration,omitempty"`
	// Engines is what container engines are and made by themselves, node by node, once the testbed
	// stood: addresses, rules for packets, proxies.
	Engines   string             `json:"engines,omitempty"`
	Published map[Metric]float64 `json:"published,omitempty"`
	Skipped   string             `json:"skipped,omitempty"`
	Failed    string             `json:"failed,omitempty"`
	Doubts    []Doubt            `json:"doubts,omitempty"`
	// Intervention is what a cell that tries a suspect is for; nil: it is the suite's own.
	Intervention *Intervention `json:"intervention,omitempty"`
}

// MTU is the largest IP packet of the wire and of the endpoints' interfaces, in bytes.
type MTU struct {
	Wire     int `json:"wire"`
	Endpoint int `json:"endpoint"`
}

// Pair is one sender and one receiver.
type Pair struct {
	From Place `json:"from"`
	To   Place `json:"to"`
}

// Place is where a worker runs: a node's own stack (Container is empty), a
// container on it, or an interface of a virtual machine on it (VM is its name, NIC the
// interface's number, and Container the name by which the cell knows the place).
type Place struct {
	Node      string `json:"node"`
	Container string `json:"container,omitempty"`
	VM        string `json:"vm,omitempty"`
	NIC       int    `json:"nic,omitempty"`
}

// Name is the node's, the container's or, of a virtual machine's interface, the place's name.
func (p Place) Name() string {
	if p.Container != "" {
		return p.Container
	}
	return p.Node
}

// Trial is one measurement of one cell. Excluded says why it does not count;
// such a trial is kept and was repeated if the budget allowed.
type Trial struct {
	Record         string                `json:"record"`
	Cell           string                `json:"cell"`
	Block          int                   `json:"block"` // from 1
	Order          int                   `json:"order"` // the trial's place in its block, from 1
	Attempt        int                   `json:"attempt"`
	ElapsedSeconds float64               `json:"elapsed_seconds"` // since the run began
	WarmupSeconds  float64               `json:"warmup_seconds"`
	WindowSeconds  float64               `json:"window_seconds"` // asked for; each end states its own
	Excluded       string                `json:"excluded,omitempty"`
	Pairs          []PairSample          `json:"pairs,omitempty"`
	Nodes          map[string]NodeSample `json:"nodes,omitempty"`
}

// End is the last line of a run that ended by itself: Why is "precision",
// "budget", "interrupted" or "failed".
type End struct {
	Record         string  `json:"record"`
	Why            string  `json:"why"`
	Error          string  `json:"error,omitempty"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	Blocks         int     `json:"blocks"` // whole ones
}

// Doubt is a reason to trust a figure less. It is a value: every report prints it.
type Doubt struct {
	Cell string `json:"cell,omitempty"` // empty: the whole run
	Kind string `json:"kind"`           // few-blocks, steal, shared-cpus, ...
	Says string `json:"says"`
}
