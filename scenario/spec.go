// Package scenario turns a suite's text and a vocabulary into a typed,
// validated, fully defaulted Spec. It is pure: it reads no file, no environment
// and no machine.
package scenario

import (
	"time"

	"windtunnel/result"
)

// Spec is one suite, resolved: `like` and `matrix` are expanded, defaults
// filled in, predicates parsed. Cells keep the order of the suite.
type Spec struct {
	Suite      string // the suite's name
	File       string // where the text came from, for messages
	Asks       string
	Source     string
	Budget     time.Duration `json:",omitempty"` // of a run for which nobody gives another; 0: not stated
	Nodes      []Node
	Assumed    Assumed
	Cells      []Cell
	Ratios     []result.Ratio
	Hypotheses []Hypothesis
	Why        *result.Why `json:",omitempty"` // the ratio whose suspects are tried; nil: none
}

// Node is what the suite needs of a node. SharedCPUs lets more nodes than CPUs
// share them, with a doubt. One with Exec is a place that runs already.
type Node struct {
	Name       string
	SharedCPUs bool
	Requires   Requirements

	Exec    []string `json:",omitempty"` // the command that runs another in the place: docker exec -i web
	Program string   `json:",omitempty"` // our program there; empty: it is brought
	Address string   `json:",omitempty"` // where its traffic arrives: an IP of its own, or IP:port of a published port; empty: looked for
}

// Assumed is what the source document had: the report says where a run differs.
type Assumed struct {
	CPUs              int   // a node; 0: not stated
	MemoryBytes       int64 // a node
	LinkBitsPerSecond float64
	DataNIC           string            // separate from management's, or shared with it; "": not stated
	Other             map[string]string // what has no type of its own, as written
}

// Cell is one configuration.
type Cell struct {
	Name         string
	Says         string
	Path         string         // the path's name
	PathOptions  result.Options // every option of the path, defaulted
	Traffic      string         // the kind's name
	Load         result.Options // every option of the kind, defaulted
	Find         *result.Find   `json:",omitempty"` // the search for the traffic's rate; nil: none
	Beside       string         // the kind of the light load that runs beside it, "" for none
	BesideLoad   result.Options // every option of that kind, defaulted
	Wire         Wire
	Segmentation string // "as-found", "no-lso" or "off"
	Checksum     string // of the endpoints' interfaces: "as-found" or "software"
	Pairs        []result.Pair
	VM           VM // of the cell's virtual machines
	Requires     Requirements
	Published    map[result.Metric]float64
	Window       time.Duration        // 0: the planner's
	Intervention *result.Intervention `json:",omitempty"` // of a cell that tries a suspect; nil: the suite's own
	Line, Column int                  // where the cell stands, for messages
}

// VM is what each of a cell's virtual machines has.
type VM struct {
	CPUs        int
	MemoryBytes int64
	Queues      int // of each interface
}

// Requirements are what a cell, a node or a hypothesis needs of the machine.
// Unmet means "not measured here", never a failure.
type Requirements struct {
	CPUs        int      // a node
	MemoryBytes int64    // a node
	Kernel      string   // at least this release: 6.8
	Features    []string // of Vocabulary.Features: vxlan, bpf, tcx, ...
}

// Hypothesis is one sentence of conclusion and the predicate it stands for.
type Hypothesis struct {
	ID          string
	Says        string
	Holds       result.Predicate
	Requires    Requirements
	Parallelism bool // speaks of parallel work: never judged where a full CPU decides it
}

// Vocabulary is every word that paths, kinds, metrics and probes hand in. run
// puts it together.
type Vocabulary struct {
	Paths    map[string][]result.Option // by path name
	Kinds    map[string][]result.Option // by kind of traffic
	Features []string                   // what `requires: {features: [...]}` may name
}
