package report

import (
	"math"
	"math/rand/v2"

	"windtunnel/result"
)

// A run is made up here record by record, so that the goldens need no machine.

type maker struct{ file result.File }

func number(v float64) *float64 { return &v }

func newRun() *maker {
	return &maker{result.File{Run: result.Run{
		Format: 1, Suite: "contrail-windows", Asks: "What do containers and the vRouter cost TCP throughput?",
		ID: "20260102-030405-contrail-windows", Seed: 42, StartedAt: "2026-01-02T03:04:05Z",
		Command: []string{"/usr/local/bin/windtunnel", "run", "contrail-windows", "--budget", "3m", "--out", "runs/x"},
		Version: "test", Simulated: true, Wire: "nic",
		Nodes: []result.RunNode{
			{Name: "a", CPUs: []int{0}, Fingerprint: result.Fingerprint{"kernel.release": "6.12.1"}},
			{Name: "b", CPUs: []int{1}, Fingerprint: result.Fingerprint{"kernel.release": "6.12.1"}},
		},
		Plan:    result.Plan{BudgetSeconds: 180, Precision: 0.05, WindowSeconds: 3, MinimumBlocks: 5},
		Assumed: map[string]string{"cpus": "2"},
	}}}
}

func (m *maker) ratio(over, under string, metric result.Metric) *maker {
	m.file.Run.Ratios = append(m.file.Run.Ratios, result.Ratio{Metric: metric, Over: over, Under: under})
	return m
}

func (m *maker) hypothesis(id, says, text string, comparisons ...result.Comparison) *maker {
	m.file.Run.Hypotheses = append(m.file.Run.Hypotheses, result.Hypothesis{
		ID: id, Says: says, Holds: result.Predicate{Text: text, All: comparisons},
	})
	return m
}

func (m *maker) cell(c result.Cell) *maker {
	c.Record, c.Traffic, c.Wire = "cell", "stream", "nic"
	c.MTU = result.MTU{Wire: 1500, Endpoint: 1500}
	m.file.Cells = append(m.file.Cells, c)
	return m
}

func (m *maker) ended(why string) *maker {
	m.file.End = &result.End{Why: why, Blocks: len(m.file.Trials)}
	return m
}

// wiggle is the noise of a trial, the same in every run of the tests.
func wiggle(cell string, block int) float64 {
	return math.Exp(0.01 * rand.New(rand.NewPCG(uint64(block), uint64(cell[0]))).NormFloat64())
}

// load is what a cell's trials look like.
type load struct {
	megabits           float64 // of each pair
	busyA, busyB       float64 // shares of one CPU
	softirqB           float64
	wireBytes, inBytes float64 // of a packet
	window             float64 // share of time that TCP waited for the receiver
	retransmits        uint64
	drops              map[string]uint64
}

// trials adds blocks from first to last of one cell.
func (m *maker) trials(cell string, first, last int, l load) *maker {
	spec, _ := result.FindCell(m.file.Cells, cell)
	for block := first; block <= last; block++ {
		factor := wiggle(cell, block)
		t := result.Trial{Cell: cell, Block: block, Order: 1 + (block*len(cell)+int(cell[0]))%5, WindowSeconds: 3, Nodes: map[string]result.NodeSample{}}
		t.ElapsedSeconds = float64(20*(block-1) + 4*t.Order)
		bytes := l.megabits * 1e6 / 8 * 3 * factor
		for _, p := range spec.Pairs {
			t.Pairs = append(t.Pairs, result.PairSample{
				From: p.From.Name(), To: p.To.Name(),
				Sender:   result.PairEnd{WindowSeconds: 3, Bytes: uint64(bytes * 1.0001), Connections: []result.Connection{l.connection()}},
				Receiver: result.PairEnd{WindowSeconds: 3, Bytes: uint64(bytes), Intervals: intervals(bytes, block)},
			})
		}
		to := spec.Pairs[0].To
		t.Nodes["a"] = l.node("a", to, 0, l.busyA*(2+factor)/3, 0.1, bytes)
		t.Nodes["b"] = l.node("b", to, 1, min(1, l.busyB*(4+factor)/5), l.softirqB, bytes)
		m.file.Trials = append(m.file.Trials, t)
	}
	return m
}

// intervals are six parts of the window, of which one has more and one less.
func intervals(bytes float64, block int) (all []result.Interval) {
	for i := range 6 {
		share := 1 + 0.05*float64((i+block)%3-1)
		all = append(all, result.Interval{From: float64(i) / 2, To: float64(i+1) / 2, Bytes: uint64(bytes / 6 * share)})
	}
	return all
}

func (l load) connection() result.Connection {
	return result.Connection{Congestion: "cubic", Retransmits: l.retransmits, BusySeconds: 3, RwndLimitedSeconds: 3 * l.window}
}

func (l load) node(name string, to result.Place, cpu int, busy, softirq, bytes float64) result.NodeSample {
	s := result.NodeSample{WindowSeconds: 3, CPUSource: "idle-clock"}
	for i := range 6 {
		s.Intervals = append(s.Intervals, result.CPUInterval{From: float64(i) / 2, To: float64(i+1) / 2, Busy: []float64{busy * (1 - 0.01*float64(i%3))}})
	}
	s.CPUs = []result.CPUSample{{CPU: cpu, Busy: 3 * busy, Softirq: 3 * softirq, System: 3 * max(0, busy-softirq), Idle: 3 * (1 - busy)}}
	if l.wireBytes > 0 {
		packets := uint64(bytes / (l.wireBytes - 66))
		s.Links = []result.LinkSample{{Place: name, Device: "wire0", Role: result.RoleWire, TxPackets: packets, TxBytes: uint64(float64(packets) * l.wireBytes), RxNAPI: new(uint64)}}
	}
	if l.inBytes > 0 && to.Node == name {
		packets := uint64(bytes / (l.inBytes - 52))
		s.Stacks = []result.StackSample{{Place: to.Name(), InPackets: packets, InBytes: uint64(float64(packets) * l.inBytes)}}
	}
	if name == "b" && l.drops != nil {
		s.Switches = []result.SwitchSample{{Switch: "vrouter@b", Received: 1000, Sent: 1000, Drops: l.drops}}
		for _, n := range l.drops {
			s.Switches[0].Received += n
		}
	}
	return s
}

func between(over, under string, metric result.Metric, low, high *float64) result.Comparison {
	return result.Comparison{Ratio: result.Ratio{Metric: metric, Over: over, Under: under}, Low: low, High: high}
}

func published(sent, received, cpuA, cpuB float64) map[result.Metric]float64 {
	return map[result.Metric]float64{
		result.SentRate: sent * 1e6, result.ReceivedRate: received * 1e6,
		result.CPUPercent("a"): cpuA, result.CPUPercent("b"): cpuB,
	}
}

var (
	onNodes      = []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}}
	inContainers = []result.Pair{{From: result.Place{Node: "a", Container: "sender"}, To: result.Place{Node: "b", Container: "receiver"}}}
	onOneNode    = []result.Pair{{From: result.Place{Node: "a", Container: "sender"}, To: result.Place{Node: "a", Container: "receiver"}}}
	twoPairs     = []result.Pair{
		{From: result.Place{Node: "a", Container: "sender1"}, To: result.Place{Node: "b", Container: "receiver1"}},
		{From: result.Place{Node: "a", Container: "sender2"}, To: result.Place{Node: "b", Container: "receiver2"}},
	}

	raw        = load{megabits: 9500, busyA: 0.55, busyB: 0.97, softirqB: 0.55, wireBytes: 1514, inBytes: 33000}
	containers = load{megabits: 7600, busyA: 0.60, busyB: 0.98, softirqB: 0.62, wireBytes: 1514, inBytes: 31000, window: 0.1}
	overlay    = load{megabits: 3100, busyA: 0.70, busyB: 0.99, softirqB: 0.85, wireBytes: 1514, inBytes: 1460, window: 0.62, retransmits: 57,
		drops: map[string]uint64{"no_route": 3}}
)

// contrail has three cells, their ratios and the source's conclusions.
func contrail() *maker {
	return newRun().
		cell(result.Cell{Name: "A", Says: "raw", Path: "wire", Pairs: onNodes, Published: published(7375.159, 7375.198, 14.799, 21.161), Topology: "[a]==wire==[b]\n"}).
		cell(result.Cell{Name: "B", Says: "containers", Path: "bridge", Pairs: inContainers, Published: published(1592.691, 1592.698, 15.843, 42.278), Topology: "[sender]--br--[a]==wire==[b]--br--[receiver]\n"}).
		cell(result.Cell{Name: "D", Says: "containers with vRouter", Path: "vrouter", Pairs: inContainers, Published: published(658.291, 657.520, 40.992, 48.184),
			Configuration: "vrouter-a, on node a:\n  vrouter run --config {dir}/config.json\n  {dir}/config.json:\n    {\n      \"name\": \"a_*b*\"\n    }\n"}).
		ratio("B", "A", "").ratio("D", "B", "").ratio("B", "A", result.CPUPercent("b")).
		hypothesis("containers-cost", "the switch divides throughput by 3 to 4", "B/A between 0.25 and 0.333", between("B", "A", result.ReceivedRate, number(0.25), number(0.333))).
		hypothesis("receiver-pays", "the switch raises receiver CPU by a factor of 2 to 4", "cpu.b: B/A between 2 and 4", between("B", "A", result.CPUPercent("b"), number(2), number(4))).
		hypothesis("vrouter-costs", "the vRouter costs more than half", "D/B <= 0.5", between("D", "B", result.ReceivedRate, nil, number(0.5)))
}
