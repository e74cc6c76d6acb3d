package report

import (
	"encoding/json"
	"io"

	"windtunnel/analysis"
	"windtunnel/result"
)

// The object that `--format json` prints. Other programs rely on the names: fields
// are only ever added. Figures are {"mean","low","high","n"} or {"reason"}.
type object struct {
	Format      int                           `json:"format"`
	Suite       string                        `json:"suite"`
	Asks        string                        `json:"asks,omitempty"`
	Run         string                        `json:"run"`
	StartedAt   string                        `json:"started_at"`
	Seed        uint64                        `json:"seed"`
	Blocks      int                           `json:"blocks"`
	Wire        string                        `json:"wire"`
	Ended       *string                       `json:"ended"` // precision, budget, interrupted, failed; null: it was killed
	CellOrder   []string                      `json:"cell_order"`
	Cells       map[string]cellObject         `json:"cells"`
	Ratios      map[string]ratioObject        `json:"ratios"`
	Together    int                           `json:"ratios_together"` // how many ratios share the error of 5 %, hypotheses' included
	Hypotheses  []hypothesisObject            `json:"hypotheses"`
	Ceilings    []ceilingObject               `json:"ceilings"` // that two cells or more are at
	Doubts      []doubtObject                 `json:"doubts"`
	Fingerprint map[string]result.Fingerprint `json:"fingerprint"`         // by node
	Recovered   *recoveredObject              `json:"recovered,omitempty"` // what suspects of a ratio give back; absent: none were tried
}

type cellObject struct {
	Status             string                    `json:"status"`
	Reason             *string                   `json:"reason"`
	Says               string                    `json:"says"`
	Path               string                    `json:"path"`
	Wire               string                    `json:"wire"`
	Segmentation       string                    `json:"segmentation,omitempty"`
	Checksum           string                    `json:"checksum,omitempty"`       // software: endpoints finish checksums themselves
	Intervention       *result.Intervention      `json:"intervention,omitempty"`   // what the cell is for, if it tries a suspect
	Queueing           *result.Queueing          `json:"queueing,omitempty"`       // asked of the wire's queues and the CPUs
	Wired              *result.WireSettings      `json:"wire_settings,omitempty"`  // asked of the wire beside
	Queues             []analysis.Queues         `json:"received,omitempty"`       // shares of the packets by queue and by CPU, where queueing is asked for
	Outage             *result.Figure            `json:"outage_seconds,omitempty"` // of a pulled cable
	OutageMethod       *analysis.Outage          `json:"outage_method,omitempty"`
	Trials             int                       `json:"trials"`
	Excluded           int                       `json:"excluded"`
	WindowSeconds      float64                   `json:"window_seconds"`
	Congestion         *string                   `json:"congestion"`
	MTU                result.MTU                `json:"mtu"`
	Sent               result.Figure             `json:"sent_bits_per_second"`
	Received           result.Figure             `json:"received_bits_per_second"`
	CPUPercent         map[string]result.Figure  `json:"cpu_percent"`
	Cost               costObject                `json:"cpu_ns_per_kib"`
	WirePacketRate     result.Figure             `json:"wire_packets_per_second"`
	WirePacketSize     result.Figure             `json:"wire_bytes_per_packet"`
	EndpointPacketSize result.Figure             `json:"endpoint_bytes_per_packet"`
	Retransmits        result.Figure             `json:"retransmits"`      // segments in a trial's window
	Drops              map[string]result.Figure  `json:"drops"`            // packets in a trial's window
	Counts             map[string]result.Figure  `json:"counts,omitempty"` // what else its switches count
	Traffic            string                    `json:"traffic"`
	Packets            *packetsObject            `json:"packets"`              // null: the load has none of its own
	Latency            *latencyObject            `json:"latency"`              // null: the load measures none
	LatencyBeside      map[string]result.Figure  `json:"latency_beside"`       // of the probe beside the load, seconds by quantile; null: none
	Methods            []string                  `json:"methods"`              // how packets left and arrived
	Generators         []analysis.Generator      `json:"generators,omitempty"` // programs of others that made the load, as in the last trial
	Limits             map[string]analysis.Limit `json:"limits"`               // what bounded the traffic, by verdict
	Pairs              []pairObject              `json:"pairs"`
	Matrix             *matrixObject             `json:"matrix,omitempty"`
	Published          map[result.Metric]float64 `json:"published"`
	LatencyAt          *result.LatencyAt         `json:"latency_at,omitempty"`    // of the cell's own frames at a load
	Search             *result.Search            `json:"search,omitempty"`        // for the highest rates: result/FORMAT.md has its fields
	Configuration      string                    `json:"configuration,omitempty"` // every program that the path ran
	Engines            string                    `json:"engines,omitempty"`       // what container engines made by themselves
	Machines           []analysis.Machine        `json:"vms,omitempty"`           // virtual machines, and what they cost
	Layers             map[string]layersObject   `json:"layers,omitempty"`        // what its CPU time went to, by node
	Devices            []deviceObject            `json:"devices,omitempty"`       // what the interfaces on its way were set to
}

// packetsObject is what became of numbered packets. Shares are percentages of
// those expected.
type packetsObject struct {
	Sent      result.Figure `json:"sent_per_second"`
	Received  result.Figure `json:"received_per_second"`
	Lost      result.Figure `json:"lost_percent"`
	Late      result.Figure `json:"late_percent"`
	Reordered result.Figure `json:"reordered_percent"`
	Duplicate result.Figure `json:"duplicate_percent"`
	Corrupt   result.Figure `json:"corrupt_percent"`
	Jitter    result.Figure `json:"jitter_seconds"`
	Cost      costObject    `json:"cpu_ns_per_packet"`
	Line      *lineObject   `json:"line,omitempty"` // of raw frames
}

// lineObject compares raw frames with cores and with links. A ceiling is what a link would carry of them
// in one direction at the fabric.
type lineObject struct {
	Received    map[string]result.Figure `json:"received_per_second"` // by direction: "a to b"
	PerCore     result.Figure            `json:"per_second_per_core"`
	PerBusyCore result.Figure            `json:"per_busy_core_second"`
	Cost        result.Figure            `json:"cpu_ns_per_packet"`
	Cycles      result.Figure            `json:"cycles_per_packet"`
	BusyBy      []result.DeviceSource    `json:"busy_by,omitempty"`                 // what tells how busy those cores were
	Stages      map[string]result.Figure `json:"stage_cycles_per_packet,omitempty"` // where the cores tell
	Ceiling10G  result.Figure            `json:"ceiling_10g_per_second"`
	Share10G    result.Figure            `json:"share_10g_percent"`
	Ceiling40G  result.Figure            `json:"ceiling_40g_per_second"`
	Share40G    result.Figure            `json:"share_40g_percent"`
}

// latencyObject has seconds by quantile.
type latencyObject struct {
	Transactions result.Figure            `json:"transactions_per_second"`
	Intended     map[string]result.Figure `json:"from_intended_seconds"`
	Actual       map[string]result.Figure `json:"from_actual_seconds"`
}

type costObject struct {
	Sender   result.Figure `json:"sender"`
	Receiver result.Figure `json:"receiver"`
	Together result.Figure `json:"together"`
}

// matrixObject is what the pairs of a mesh received: a row for each sender, null where there is no pair.
type matrixObject struct {
	From     []string           `json:"from"`
	To       []string           `json:"to"`
	Received [][]*result.Figure `json:"received_bits_per_second"`
	Latency  [][]*result.Figure `json:"latency_p50_seconds,omitempty"`
}

func matrixOf(c analysis.Cell) *matrixObject {
	m := c.Mesh()
	if len(m.From) == 0 || c.Status != analysis.Measured {
		return nil
	}
	o := &matrixObject{From: m.From, To: m.To}
	figures := func(of func(analysis.Pair) *result.Figure) [][]*result.Figure {
		rows := make([][]*result.Figure, len(m.At))
		for i, row := range m.At {
			for _, at := range row {
				var f *result.Figure
				if at >= 0 {
					f = of(c.Pairs[at])
				}
				rows[i] = append(rows[i], f)
			}
		}
		return rows
	}
	o.Received = figures(func(p analysis.Pair) *result.Figure { return &p.Received })
	if c.Latencies() {
		o.Latency = figures(func(p analysis.Pair) *result.Figure { return &p.Latency })
	}
	return o
}

type pairObject struct {
	From     string        `json:"from"`
	To       string        `json:"to"`
	Sent     result.Figure `json:"sent_bits_per_second"`
	Received result.Figure `json:"received_bits_per_second"`
}

type ratioObject struct {
	Metric    result.Metric `json:"metric"`
	Over      string        `json:"over"`
	Under     string        `json:"under"`
	Estimate  *float64      `json:"estimate"`
	Low       *float64      `json:"low"`
	High      *float64      `json:"high"`
	N         int           `json:"n"`
	Reason    *string       `json:"reason"` // why there is no estimate
	Published *float64      `json:"published"`
	Verdict   string        `json:"verdict"`
	Evidence  []string      `json:"evidence"`
	Causes    []causeObject `json:"causes"` // the first explains most
	Doubts    []string      `json:"doubts"`

	Layers []layerChangeObject `json:"layers,omitempty"` // where the CPU time differs
}

type hypothesisObject struct {
	ID        string   `json:"id"`
	Says      string   `json:"says"`
	Holds     string   `json:"holds"`
	Verdict   string   `json:"verdict"`
	Published string   `json:"published_verdict"`
	Reason    *string  `json:"reason"`
	Evidence  []string `json:"evidence"`
}

type doubtObject struct {
	Cell *string `json:"cell"` // null: the whole run
	Kind string  `json:"kind"`
	Says string  `json:"says"`
}

func writeJSON(w io.Writer, f analysis.Findings, _ Options) error { return writeObject(w, objectOf(f)) }

// writeObject writes one object for programs, indented, and texts as they are: no browser runs it.
func writeObject(w io.Writer, o any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(o)
}

func objectOf(f analysis.Findings) object {
	o := object{
		Format: 1, Suite: f.Run.Suite, Asks: f.Run.Asks, Run: f.Run.ID, StartedAt: f.Run.StartedAt,
		Seed: f.Run.Seed, Blocks: f.Blocks, Together: int(f.Family), Wire: f.Run.Wire,
		CellOrder: []string{}, Cells: map[string]cellObject{}, Ratios: map[string]ratioObject{},
		Hypotheses: []hypothesisObject{}, Ceilings: ceilingsOf(f), Doubts: []doubtObject{}, Fingerprint: map[string]result.Fingerprint{},
	}
	if f.End != nil {
		o.Ended = &f.End.Why
	}
	for _, c := range f.Cells {
		o.CellOrder = append(o.CellOrder, c.Spec.Name)
		o.Cells[c.Spec.Name] = cellOf(f, c)
	}
	for _, r := range f.Ratios {
		o.Ratios[r.Ratio.Name()] = ratioOf(r)
	}
	for _, h := range f.Hypotheses {
		o.Hypotheses = append(o.Hypotheses, hypothesisObject{
			h.ID, h.Says, h.Holds, string(h.Verdict), string(h.Published), orNull(h.Reason), list(h.Evidence),
		})
	}
	for _, d := range f.Doubts {
		o.Doubts = append(o.Doubts, doubtObject{orNull(d.Cell), d.Kind, d.Says})
	}
	o.Recovered = recoveredOf(f.Recovered)
	for _, n := range f.Run.Nodes {
		o.Fingerprint[n.Name] = result.Fingerprint{}
		if n.Fingerprint != nil {
			o.Fingerprint[n.Name] = n.Fingerprint
		}
	}
	return o
}

func cellOf(f analysis.Findings, c analysis.Cell) cellObject {
	o := cellObject{
		Status: c.Status, Reason: orNull(c.Reason), Says: c.Spec.Says, Path: c.Spec.Path, Wire: c.Spec.Wire, Segmentation: c.Spec.Segmentation, Queueing: c.Spec.Queueing, Wired: c.Spec.Wired, Queues: c.Queues, OutageMethod: c.Outage, Configuration: c.Spec.Configuration, Engines: c.Spec.Engines, Machines: c.Machines, Layers: layersOf(c), Devices: devicesOf(c),
		Trials: c.Trials, Excluded: c.Excluded, WindowSeconds: c.WindowSeconds,
		Congestion: orNull(c.Congestion), MTU: c.Spec.MTU,
		Sent: c.Figure(result.SentRate), Received: c.Figure(result.ReceivedRate),
		CPUPercent:     map[string]result.Figure{},
		Cost:           costObject{c.Figure(result.SenderCost), c.Figure(result.ReceiverCost), c.Figure(result.TogetherCost)},
		WirePacketRate: c.Figure(result.WirePacketRate), WirePacketSize: c.Figure(result.WirePacketSize),
		EndpointPacketSize: c.Figure(result.EndpointPacketSize), Retransmits: c.Figure(result.Retransmits),
		Drops: c.Drops, Counts: c.Counts, Pairs: []pairObject{}, Matrix: matrixOf(c), Published: c.Spec.Published,
		LatencyAt: c.Latency, Search: c.Search, Traffic: c.Spec.Traffic, Methods: list(c.Methods), Limits: c.Limits, Generators: c.Generators,
	}
	o.Checksum, o.Intervention = c.Spec.Checksum, c.Spec.Intervention
	addPackets(&o, c)
	if c.Outage != nil {
		outage := c.Figure(result.OutageTime)
		o.Outage = &outage
	}
	if o.Published == nil {
		o.Published = map[result.Metric]float64{}
	}
	for _, n := range f.Run.Nodes {
		o.CPUPercent[n.Name] = c.Figure(result.CPUPercent(n.Name))
	}
	for _, p := range c.Pairs {
		o.Pairs = append(o.Pairs, pairObject{p.From, p.To, p.Sent, p.Received})
	}
	return o
}

func addPackets(o *cellObject, c analysis.Cell) {
	if c.Packets() {
		o.Packets = &packetsObject{
			Sent: c.Figure(result.SentPacketRate), Received: c.Figure(result.ReceivedPacketRate),
			Lost: c.Figure(result.Loss), Late: c.Figure(result.LatePackets), Reordered: c.Figure(result.Reordered),
			Duplicate: c.Figure(result.Duplicates), Corrupt: c.Figure(result.Corrupt), Jitter: c.Figure(result.Jitter),
			Cost: costObject{c.Figure(result.SenderPacketCost), c.Figure(result.ReceiverPacketCost), c.Figure(result.TogetherPacketCost)},
			Line: lineOf(c),
		}
	}
	if c.Latencies() {
		o.Latency = &latencyObject{c.Figure(result.TransactionRate),
			quantiles(c, func(q string) result.Metric { return result.Latency(result.LatencyIntended, q) }),
			quantiles(c, func(q string) result.Metric { return result.Latency(result.LatencyActual, q) })}
	}
	if c.LatencyBeside() {
		o.LatencyBeside = quantiles(c, result.BesideLatency)
	}
}

func lineOf(c analysis.Cell) *lineObject {
	if !c.Framed() {
		return nil
	}
	o := &lineObject{
		Received: map[string]result.Figure{},
		PerCore:  c.Figure(result.PacketsPerCore), PerBusyCore: c.Figure(result.PacketsPerBusyCore),
		Cost: c.Figure(result.DevicePacketCost), Cycles: c.Figure(result.DeviceCycles), BusyBy: c.DeviceSources, Stages: c.Stages,
		Ceiling10G: c.Ceiling10G, Share10G: c.Figure(result.LineShare10G),
		Ceiling40G: c.Ceiling40G, Share40G: c.Figure(result.LineShare40G),
	}
	for _, d := range c.Directions {
		o.Received[d.String()] = d.Received
	}
	return o
}

func quantiles(c analysis.Cell, of func(string) result.Metric) map[string]result.Figure {
	figures := map[string]result.Figure{}
	for _, q := range analysis.Quantiles {
		figures[q] = c.Figure(of(q))
	}
	return figures
}

func ratioOf(r analysis.Ratio) ratioObject {
	o := ratioObject{
		Metric: r.Ratio.Metric, Over: r.Ratio.Over, Under: r.Ratio.Under,
		Low: r.Estimate.Low, High: r.Estimate.High, N: r.Estimate.N, Reason: orNull(r.Estimate.Reason),
		Published: r.Published, Verdict: r.Verdict, Evidence: list(r.Evidence), Causes: causesOf(r), Doubts: list(r.Doubts), Layers: changesOf(r),
	}
	if r.Estimate.Known() {
		o.Estimate = &r.Estimate.Estimate
	}
	return o
}

// orNull is null for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// list is never null.
func list(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}
