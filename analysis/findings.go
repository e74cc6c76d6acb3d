package analysis

import (
	"slices"

	"windtunnel/result"
	"windtunnel/stats"
)

// Findings are all that a report says of a run. Figures are in the units of their
// metric (see result.Metric).
type Findings struct {
	Run        result.Run
	End        *result.End // nil: the run did not end by itself
	Blocks     int         // in which every measured cell has a trial that counts
	Cells      []Cell      // in the order of the suite
	Ratios     []Ratio
	Family     stats.Family // the ratios, hypotheses' included, that share an error of 5 %
	Hypotheses []Hypothesis
	Ceilings   []SharedCeiling // that two cells or more are at
	Doubts     []result.Doubt
	Recovered  *Recovered // what the suspects of a ratio give back; nil: none were tried
}

// The states of a cell.
const (
	Measured = "measured"
	Skipped  = "skipped" // a requirement is unmet here
	Failed   = "failed"
)

// Cell is one configuration and its figures.
type Cell struct {
	Spec          result.Cell
	Status        string
	Reason        string // why it was not measured
	Trials        int    // that count
	Excluded      int
	WindowSeconds float64 // asked for, of the last trial
	Congestion    string  // of TCP, as the sockets said; several are joined by a comma
	Figures       map[result.Metric]result.Figure
	Drops         map[string]result.Figure // a trial's, by name; a name that never counted is absent
	Counts        map[string]result.Figure // a trial's, of what else its switches count
	Stages        map[string]result.Figure // cycles of a packet by what the polling cores spent them on; empty where they do not tell
	DeviceSources []result.DeviceSource    // by what the busy time of the cores that forward is known; several if trials differ
	Pairs         []Pair
	Directions    []Direction
	Ceiling10G    result.Figure    // frames a second that 10 Gbit/s Ethernet would carry one way at the fabric
	Ceiling40G    result.Figure    // the same of 40 Gbit/s
	Methods       []string         // how packets left and arrived, and why not better; what a frame's size means
	Machines      []Machine        // virtual machines
	Generators    []Generator      // programs of others that made the load, in the last trial
	Limits        map[string]Limit // what bounded the traffic, by verdict (result.PathLimited, ...)
	Profile       Profile
	Outage        *Outage           // of a cell whose cable is pulled; nil: none is
	Layers        []NodeLayers      // what its CPU time went to, by node
	Flames        []Flame           // the same call by call, of nodes that were sampled
	Queues        []Queues          // where packets were received, of nodes of a cell that asks for queues or spread
	Latency       *result.LatencyAt // of its own frames, at a share of what arrived; nil: it was not measured
	Course        []Moment          // every trial that was recorded, in the order of time
	Account       *Account          // of numbered packets; nil: the load has none
	Hops          []Hop             // what counted packets, from the senders to the receivers
	Search        *result.Search    // for the highest rates; nil: none was asked for, or it did not begin

	limitedBy map[string]int                 // trials by the nearest limit of their pairs
	blocks    map[string]map[int]trialLayers // by node and block, for ratios
}

// Limit is in how many trials a verdict was given, and the last one's evidence.
type Limit struct {
	Trials int    `json:"trials"`
	Says   string `json:"says"`
}

// Figure is a figure of the cell, or the reason why it has none.
func (c Cell) Figure(m result.Metric) result.Figure {
	if f, ok := c.Figures[m]; ok {
		return f
	}
	return result.Missing("not measured")
}

// Pair is one pair's own rates, in bits per second.
type Pair struct {
	From, To string
	Sent     result.Figure
	Received result.Figure
	Latency  result.Figure // the median from the intended time, in seconds, of loads that have one
}

// Direction is the packets a second that were received in one direction.
type Direction struct {
	result.Direction
	Received result.Figure
}

// Ratio is one cell's metric over another's, and what speaks for a cause.
type Ratio struct {
	Ratio            result.Ratio
	Estimate         stats.Estimate
	Published        *float64 // the same ratio of the published figures; nil: none
	Verdict          string   // "6.1 % slower [4.8, 7.4]"
	PublishedVerdict string
	Evidence         []string
	Causes           []Cause // the first explains most; empty: nothing that was looked at does
	Doubts           []string
	Layers           []RatioLayers // what the layers cost more, by node
}

// Hypothesis is a sentence and what the run's data and the published data say of it.
type Hypothesis struct {
	ID        string
	Says      string
	Holds     string // the predicate, as the suite wrote it
	Verdict   stats.Judgement
	Reason    string // why it was not judged
	Published stats.Judgement
	Evidence  []string
}

// data is a run file with its trials by cell: a file may have many of both.
type data struct {
	result.File
	of       map[string][]result.Trial
	profiles map[string][]result.Profile
}

// both are the trials of two cells.
func (d data) both(r result.Ratio) []result.Trial { return slices.Concat(d.of[r.Over], d.of[r.Under]) }

// Of turns a run file into findings. It needs no root, and not the machine.
func Of(file result.File) Findings {
	d := data{file, result.ByCell(file.Trials), profilesByCell(file.Profiles)}
	f := Findings{Run: file.Run, End: file.End, Family: stats.FamilyOf(file.Run.Ratios, file.Run.Hypotheses, file.Cells)}
	var measured []string
	for _, spec := range file.Cells {
		c := d.cell(spec)
		f.Cells = append(f.Cells, c)
		if c.Status == Measured {
			measured = append(measured, spec.Name)
		}
	}
	f.Blocks = result.Blocks(file.Trials, measured)
	for _, r := range file.Run.Ratios {
		f.Ratios = append(f.Ratios, f.ratioOf(d, r))
	}
	for _, h := range file.Run.Hypotheses {
		f.Hypotheses = append(f.Hypotheses, f.hypothesisOf(d, h))
	}
	f.Ceilings = f.ceilings(d)
	f.Recovered = f.recovered(d)
	f.Doubts = f.doubts(d)
	return f
}

// Cell returns the cell of that name.
func (f Findings) Cell(name string) (Cell, bool) {
	for i := range f.Cells {
		if f.Cells[i].Spec.Name == name {
			return f.Cells[i], true
		}
	}
	return Cell{}, false
}

// Measured counts the cells that have a trial.
func (f Findings) Measured() int {
	n := 0
	for _, c := range f.Cells {
		if c.Status == Measured {
			n++
		}
	}
	return n
}

// Usable reports whether some cell has the two trials without which nothing can
// be said.
func (f Findings) Usable() bool {
	for _, c := range f.Cells {
		if c.Trials >= 2 {
			return true
		}
	}
	return false
}
