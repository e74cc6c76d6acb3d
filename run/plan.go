package run

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"windtunnel/agent"
	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/stats"
	"windtunnel/testbed"
	"windtunnel/traffic"
)

// Settings are what a person asks of a run, beside the suite.
type Settings struct {
	Budget    time.Duration // for everything, building included; 0: the suite's, or DefaultBudget
	Precision float64       // relative half-width at which a ratio is known
	Cells     []string      // empty: all
	Wire      string        // nic or memory; empty: as the suite says
	Window    time.Duration // 0: the planner's
	Seed      uint64
	NoProfile bool // stacks are not sampled
	Why       *Why // the ratio whose suspects are tried; nil: none
}

// DefaultBudget is that of a run for which neither its suite nor who starts it has another.
const DefaultBudget = 3 * time.Minute

// What the planner reckons with, beside the window.
const (
	setUpPerCell  = 60 * time.Millisecond   // building, verifying, taking down
	setUpEngines  = 1500 * time.Millisecond // more, where container engines have to begin
	setUpMachines = 4 * time.Second         // more, where virtual machines boot; 10 s emulated
	trialOverhead = 210 * time.Millisecond  // preparing, connecting, and the tail in which senders go on
	closingTime   = time.Second             // the report and the last teardown
	startDelay    = 30 * time.Millisecond   // from the start message to traffic
	interval      = 100 * time.Millisecond  // of the records within a trial: 10 to 30 a window
	mostIntervals = 600                     // in a window; longer ones have longer intervals
	shortWarmUp   = 200 * time.Millisecond
	longWarmUp    = 500 * time.Millisecond
	shortWindow   = time.Second
	longWindow    = 3 * time.Second
	// blocksAimed is how many blocks a budget is cut into before windows grow:
	// many short trials beat few long ones.
	blocksAimed = 12
)

// rawFrames is the kind of load that enters a path below the sender's stack.
const rawFrames = "frame"

// streams is the kind of load that is TCP's alone.
const streams = "stream"

// datagrams is the kind of load whose receiver has a port for each of its threads.
const datagrams = "datagram"

// Plan is a suite, laid out on a host: nothing is left to decide but the order
// of trials.
type Plan struct {
	Suite      scenario.Spec
	Loads      map[string][]result.Option // every kind's options
	Nodes      []result.RunNode
	Cells      []PlannedCell
	Ratios     []result.Ratio
	Hypotheses []result.Hypothesis
	Times      result.Plan
	Searches   []PlannedSearch
	Seed       uint64
	Doubts     []result.Doubt
	OneAtATime bool // cells stand one after the other, and are built anew for each trial
}

// PlannedCell is a cell and its testbed. Record.Skipped says why it will not run.
type PlannedCell struct {
	Record result.Cell
	Laid   datapath.Laid

	window, warmUp time.Duration // of its trials, if they are the suite's; 0: the plan's
	// begins is what the program of others that sends takes to be ready, beginsWithin the most that it is given; 0: there is
	// none, or it is as fast as our own.
	begins, beginsWithin time.Duration
	lingers              time.Duration // for how much longer than others its trials may go on after the window
}

// MakePlan lays the suite out. An error is the suite's or the settings' fault,
// found before the machine was touched.
func MakePlan(suite scenario.Spec, host Host, settings Settings) (Plan, error) {
	if len(settings.Cells) > 0 {
		only, err := suite.Only(settings.Cells)
		if err != nil {
			return Plan{}, fmt.Errorf("--cells: %w", err)
		}
		suite = only
	}
	if settings.Why != nil {
		more, err := explained(suite, host, settings)
		if err != nil {
			return Plan{}, err
		}
		suite = more
	}
	settings.Budget = cmp.Or(settings.Budget, suite.Budget, DefaultBudget)
	host.meshed = slices.ContainsFunc(suite.Cells, func(c scenario.Cell) bool { return host.mesh(c.Pairs) })
	shares, err := host.shares(suite.Nodes)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Suite: suite, Loads: Vocabulary().Kinds, Ratios: suite.Ratios, Seed: settings.Seed, OneAtATime: host.Nodes != nil}
	for i, s := range shares {
		p.Nodes = append(p.Nodes, result.RunNode{Name: s.name, CPUs: s.cpus, Shared: s.shared, Exec: suite.Nodes[i].Exec})
	}
	for _, cell := range suite.Cells {
		planned, err := p.planCell(cell, host, settings, unsharable(suite.Nodes, shares))
		if err != nil {
			return Plan{}, fmt.Errorf("%s:%d:%d: cell %s: %w", suite.File, cell.Line, cell.Column, cell.Name, err)
		}
		p.Cells = append(p.Cells, planned)
	}
	if err := p.checkFound(); err != nil {
		return Plan{}, err
	}
	p.Hypotheses = p.hypotheses(host)
	p.ownWindows()
	p.Times = p.times(settings)
	p.Searches = p.searches()
	p.Doubts = slices.Concat(p.doubts(), p.searchDoubts(), p.narrowDoubts())
	return p, nil
}

// planCell lays a cell out, or says why it is not measured here.
func (p Plan) planCell(cell scenario.Cell, host Host, settings Settings, unsharable string) (PlannedCell, error) {
	path, ok := paths.ByName(cell.Path)
	if !ok {
		return PlannedCell{}, fmt.Errorf("there is no path %q", cell.Path)
	}
	wire := host.wire(cell, settings)
	if why := host.unlaid(path, wire, cell); why != "" {
		laid, err := p.planCell(cell, Host{}, settings, why) // as it would be with simulated nodes
		return laid, err
	}
	planned, err := p.lay(cell, path, host, wire)
	if err != nil {
		return planned, err
	}
	nodes := nodeNames(planned.Laid.Graph)
	for _, look := range []func() string{
		func() string { return planned.Laid.NotHere },
		func() string { return p.skip(cell, host, unsharable) },
		func() string { return p.tooNarrow(planned.Record) },
		func() string {
			return host.look(nodes, func(h Host, node string) string { return h.lacks(h.needed(partOf(planned.Laid.Graph, node))) })
		},
		func() string {
			return host.look(nodes, func(h Host, node string) string { return h.lacksMemory(partOf(planned.Laid.Graph, node)) })
		},
		func() string {
			return host.look(nodes, func(h Host, _ string) string { return h.lacksGenerators(cell.Load, cell.BesideLoad) })
		},
		func() string {
			return host.look(nodes, func(h Host, node string) string { return h.lacksPrograms(path, planned.Laid, node) })
		},
	} {
		if planned.Record.Skipped = look(); planned.Record.Skipped != "" {
			break
		}
	}
	emulates := func(h Host, node string) string {
		if len(partOf(planned.Laid.Graph, node).VMs) == 0 {
			return ""
		}
		return h.Missing[testbed.FeatureKVM]
	}
	if why := host.look(nodes, emulates); why != "" {
		planned.Record.Doubts = append(slices.Clip(planned.Record.Doubts), result.Doubt{Kind: result.DoubtEmulated,
			Says: "its virtual machines are emulated, since KVM does not work here (" + why + "): that traffic passes is all that its figures say"})
	}
	return planned, nil
}

func nodeNames(g Graph) []string {
	var all []string
	for _, n := range g.Nodes {
		all = append(all, n.Name)
	}
	return all
}

func (p Plan) lay(cell scenario.Cell, path datapath.Path, host Host, wire datapath.Wire) (PlannedCell, error) {
	var nodes []testbed.Node
	for _, n := range p.Nodes {
		nodes = append(nodes, host.node(n))
	}
	if cell.Path == datapath.Existing {
		wire.Kind = datapath.Existing
	}
	generator, err := generatorOf(cell)
	if err != nil {
		return PlannedCell{}, err
	}
	laid, err := path.Lay(datapath.Request{
		Cell: cell.Name, Pairs: cell.Pairs, Nodes: nodes, Wire: wire, InPlace: host.inPlace(path, cell),
		Segmentation: datapath.Segmentation(cell.Segmentation), Checksum: cell.Checksum, Options: cell.PathOptions, VM: datapath.VM(cell.VM),
		Frames:     cell.Traffic == rawFrames || cell.Beside == rawFrames,
		OnlyFrames: cell.Traffic == rawFrames && (cell.Beside == rawFrames || cell.Beside == ""),
		Generator:  generator,
		Missing:    host.missing(p.nodesOf(cell.Pairs)),
	})
	if err != nil {
		return PlannedCell{}, err
	}
	if err := checkPorts(cell, laid); err != nil {
		return PlannedCell{}, err
	}
	if err := checkGenerators(cell, laid); err != nil {
		return PlannedCell{}, err
	}
	if err := checkGenerated(generator.Name, laid.Graph); err != nil {
		return PlannedCell{}, err
	}
	find, err := p.checkFind(cell)
	if err != nil {
		return PlannedCell{}, err
	}
	record := result.Cell{
		Name: cell.Name, Says: cell.Says,
		Path: cell.Path, PathOptions: cell.PathOptions, Traffic: cell.Traffic, Load: cell.Load,
		Find: find, Beside: cell.Beside, BesideLoad: cell.BesideLoad,
		Segmentation: cell.Segmentation, Wire: wire.Kind, Queueing: laid.Queueing, Wired: laid.Wired, MTU: laid.MTU, Pairs: cell.Pairs,
		Topology: testbed.Draw(laid.Graph), Layout: laid.Facts, Configuration: testbed.Configuration(laid.Graph), Doubts: laid.Doubts, Published: cell.Published,
		Intervention: cell.Intervention,
	}
	if laid.Options != nil {
		record.PathOptions = laid.Options
	}
	if cell.Checksum == scenario.ChecksumSoftware {
		record.Checksum = cell.Checksum
	}
	planned := PlannedCell{Record: record, Laid: laid, window: cell.Window}
	planned.begins, planned.beginsWithin = agent.Begins(cell.Traffic, cell.Load)
	planned.lingers = max(agent.Lingers(cell.Traffic, cell.Load), agent.Lingers(cell.Beside, cell.BesideLoad))
	return planned, nil
}

// checkPorts refuses a load with more ports than are published.
func checkPorts(cell scenario.Cell, laid datapath.Laid) error {
	for kind, load := range map[string]result.Options{cell.Traffic: cell.Load, cell.Beside: cell.BesideLoad} {
		if n := load.Int("threads"); len(laid.Published) > 0 && kind == datagrams && n > 1 {
			return fmt.Errorf("the %d threads of its datagrams have a port each, and one is published: take `threads: 1`", n)
		}
	}
	return nil
}

// skip says why a cell is not measured here.
func (p Plan) skip(cell scenario.Cell, host Host, sharing string) string {
	if sharing != "" {
		return sharing
	}
	for _, node := range p.Suite.Nodes {
		if why := host.unmet(node.Requires, p.nodesNamed(node.Name)); why != "" {
			return why
		}
	}
	return host.unmet(cell.Requires, p.nodesOf(cell.Pairs))
}

func (p Plan) nodesNamed(names ...string) []result.RunNode {
	var nodes []result.RunNode
	for _, n := range p.Nodes {
		if slices.Contains(names, n.Name) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func (p Plan) nodesOf(pairs []result.Pair) []result.RunNode {
	var names []string
	for _, pair := range pairs {
		names = append(names, pair.From.Node, pair.To.Node)
	}
	return p.nodesNamed(names...)
}

// hypotheses carries the suite's over; one whose requirement is unmet, or whose
// cells are skipped, is not measured here.
func (p Plan) hypotheses(host Host) []result.Hypothesis {
	skipped := map[string]string{}
	for _, cell := range p.Cells {
		skipped[cell.Record.Name] = cell.Record.Skipped
	}
	var all []result.Hypothesis
	for _, h := range p.Suite.Hypotheses {
		out := result.Hypothesis{ID: h.ID, Says: h.Says, Holds: h.Holds, Parallelism: h.Parallelism}
		out.NotMeasured = host.unmet(h.Requires, p.Nodes)
		for _, ratio := range h.Holds.Ratios() {
			for _, cell := range []string{ratio.Over, ratio.Under} {
				if why := skipped[cell]; why != "" && out.NotMeasured == "" {
					out.NotMeasured = fmt.Sprintf("cell %s: %s", cell, why)
				}
			}
		}
		all = append(all, out)
	}
	return all
}

// Runnable are the cells that will run.
func (p Plan) Runnable() []PlannedCell {
	var cells []PlannedCell
	for _, cell := range p.Cells {
		if cell.Record.Skipped == "" {
			cells = append(cells, cell)
		}
	}
	return cells
}

// times cuts the budget into trials: the window is as long as leaves blocksAimed
// blocks, within its bounds. The warm-up grows with it.
func (p Plan) times(settings Settings) result.Plan {
	cells := time.Duration(len(p.Runnable()))
	t := result.Plan{BudgetSeconds: settings.Budget.Seconds(), Precision: settings.Precision, MinimumBlocks: stats.MinimumBlocks, Profile: !settings.NoProfile}
	rebuild := p.rebuild()
	t.RebuildSeconds = rebuild.Seconds()
	if cells == 0 {
		return t
	}
	left := settings.Budget - closingTime - p.setUp()
	after := p.after(settings.Budget)
	left -= after.halves + after.equal
	left -= p.searchTime(left)
	// Calibrating takes what the least number of blocks leaves.
	least := cells * stats.MinimumBlocks * (shortWindow + shortWarmUp + trialOverhead + startDelay + rebuild)
	left -= min(p.generators()*calibrationTime, max(0, left-least))
	window := settings.Window
	if window == 0 {
		window = p.evenWindow(left, t)
	}
	warmUp := warmUpOf(window)
	if p.foreign() {
		window, warmUp = foreignTimes(window)
	}
	t.WindowSeconds, t.WarmupSeconds = window.Seconds(), warmUp.Seconds()
	t.BlocksPlanned = max(0, int(left/blockTime(t, p.Runnable())))
	return t
}

// leastBudget is what the least number of blocks takes, with everything around them and before them.
func (p Plan) leastBudget() time.Duration {
	all := closingTime + p.setUp() + stats.MinimumBlocks*blockTime(p.Times, p.Runnable()) + p.generators()*calibrationTime
	all += p.halvesTime(halfMostOf * all)
	all += p.equalTime(equalMostOf * all)
	all += p.searchesWant()
	return all.Truncate(10*time.Second) + 10*time.Second
}

// setUp is what building, verifying and taking down all cells takes, about.
func (p Plan) setUp() (all time.Duration) {
	for _, cell := range p.Runnable() {
		all += setUpPerCell + cell.begins
		if p.OneAtATime {
			all += rebuildTime
		}
		if len(cell.Laid.Graph.Engines) > 0 {
			all += setUpEngines
		}
		if len(cell.Laid.Graph.VMs) > 0 {
			all += setUpMachines
		}
	}
	return all
}

// generators counts the distinct loads of the cells that will run.
func (p Plan) generators() time.Duration {
	seen := map[string]bool{}
	for _, cell := range p.Runnable() {
		seen[traffic.CalibrationKey("", cell.Record.Traffic, p.Loads[cell.Record.Traffic], cell.Record.Load)] = true
	}
	return time.Duration(len(seen))
}

func trialLength(warmUpSeconds, windowSeconds float64) time.Duration {
	return time.Duration((warmUpSeconds+windowSeconds)*float64(time.Second)) + trialOverhead + startDelay
}

func (p Plan) doubts() []result.Doubt {
	var doubts []result.Doubt
	for _, n := range p.Nodes {
		if n.Shared {
			doubts = append(doubts, result.Doubt{Kind: "shared-cpus",
				Says: fmt.Sprintf("node %s shares its CPU with another node: its CPU figures are not its own", n.Name)})
		}
	}
	if n := p.Times.BlocksPlanned; len(p.Runnable()) > 0 && n < stats.MinimumBlocks {
		doubts = append(doubts, result.Doubt{Kind: "few-blocks",
			Says: fmt.Sprintf("the budget holds %d blocks, and ratios have bounds from %d on; give a longer --budget (%s) or fewer --cells", n, stats.MinimumBlocks, p.leastBudget())})
	}
	return doubts
}
