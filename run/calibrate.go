package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/traffic"
)

// calibrationTime is what calibrating one generator takes at most, about.
const calibrationTime = 450 * time.Millisecond

// Calibrations remembers what generators reach without a path; see
// traffic.Calibrations.
type Calibrations interface {
	Get(key string) (perSecond float64, ok bool)
	Put(key string, perSecond float64) error
}

// calibrate learns how fast the generators of the cells are by themselves, so
// that a verdict can tell them from the path: each distinct load once a machine.
// It takes time from the budget only where that leaves the least number of
// blocks; a generator that stays unknown is said so in the verdicts.
func (c *Conductor) calibrate(ctx context.Context, cells []PlannedCell) {
	c.generators = map[string]float64{}
	spare := c.left() - time.Duration(c.Plan.Times.MinimumBlocks)*blockTime(c.Plan.Times, cells)
	for _, cell := range cells {
		for pair := range cell.Record.Pairs {
			for _, from := range sendersOf(cell, pair) {
				key := c.generatorAt(cell, from)
				if _, done := c.generators[key]; done || ctx.Err() != nil {
					continue
				}
				if c.Known != nil {
					if perSecond, ok := c.Known.Get(key); ok {
						c.generators[key] = perSecond
						continue
					}
				}
				if spare < calibrationTime {
					continue
				}
				spare -= calibrationTime
				c.generators[key] = c.askGenerator(ctx, cell, from, key)
			}
		}
	}
}

// sendersOf are the places of a pair from which its load flows.
func sendersOf(cell PlannedCell, pair int) []result.Place {
	of := cell.Record.Pairs[pair]
	switch cell.Record.Load.Text("direction") {
	case "reverse":
		return []result.Place{of.To}
	case "both":
		return []result.Place{of.From, of.To}
	}
	return []result.Place{of.From}
}

// together is what the generators of a cell reach without a path, 0 where one's is not known.
func (c *Conductor) together(cell PlannedCell) (sum float64) {
	for pair := range cell.Record.Pairs {
		one := c.generators[c.generatorAt(cell, sendersOf(cell, pair)[0])]
		if one == 0 {
			return 0
		}
		sum += one
	}
	return sum
}

// askGenerator calibrates the generator of a cell at a place; 0 where it could
// not be, which is no reason to end a run.
func (c *Conductor) askGenerator(ctx context.Context, cell PlannedCell, from result.Place, key string) float64 {
	if err := c.stand(ctx, cell); err != nil {
		c.Progress.Say(fmt.Sprintf("the generator of cell %s is not calibrated: %v", cell.Record.Name, err))
		return 0
	}
	order := Order{Role: traffic.Send, Kind: cell.Record.Traffic, Load: cell.Record.Load, CPUs: c.cpus(from.Node)}
	perSecond, err := c.node(from.Node).Calibrate(ctx, cell.Record.Name, from.Name(), order)
	if err != nil {
		c.Progress.Say(fmt.Sprintf("the generator of cell %s is not calibrated: %v", cell.Record.Name, err))
		return 0
	}
	if perSecond > 0 && c.Known != nil {
		if err := c.Known.Put(key, perSecond); err != nil {
			c.Progress.Say(err.Error()) // the next run calibrates anew
		}
	}
	return perSecond
}

// beaten notes a generator that was faster on a path than it was by itself: the
// calibration was disturbed, and the trial is the better one.
func (c *Conductor) beaten(key string, sender result.PairEnd) {
	perSecond := sender.PerSecond()
	if sender.Offered == nil || sender.Offered.CalibratedPerSecond == 0 || perSecond <= sender.Offered.CalibratedPerSecond {
		return
	}
	sender.Offered.CalibratedPerSecond = perSecond
	c.generators[key] = perSecond
	if c.Known != nil {
		if err := c.Known.Put(key, perSecond); err != nil {
			c.Progress.Say(err.Error())
		}
	}
}

// generatorAt names the generator of a cell at a place: where it runs and what it sends.
func (c *Conductor) generatorAt(cell PlannedCell, place result.Place) string {
	from := place.Node
	print := c.node(from).Fingerprint()
	machine := fmt.Sprintf("%s, %s, %d CPUs of a node, %s", print["cpu.model"], print["cpu.generation"], len(c.cpus(from)), print["kernel.release"])
	if cell.Record.Path == datapath.Existing {
		machine += fmt.Sprintf(", unpinned on %s CPUs", print["cpu.count"])
	}
	if ports := cell.Laid.Graph.Ports; len(ports) > 0 && ports[0].Tester != "" {
		machine += ", at ports of poll mode"
	}
	if v, _, ok := cell.Laid.Graph.InVM(place.Name()); ok {
		machine += fmt.Sprintf(", in a VM of %d CPUs, emulated %v", v.CPUs, slices.ContainsFunc(cell.Record.Doubts, func(d result.Doubt) bool { return d.Kind == result.DoubtEmulated }))
	}
	return traffic.CalibrationKey(machine, cell.Record.Traffic, c.Plan.Loads[cell.Record.Traffic], cell.Record.Load)
}

// judge adds to each pair of a trial what is known of its generator, and what
// bounded its traffic.
func (c *Conductor) judge(cell PlannedCell, t *result.Trial) {
	for i := range t.Pairs {
		p, of := &t.Pairs[i], cell.Record.Pairs[i]
		if p.Sender.Error+p.Receiver.Error != "" {
			continue
		}
		for _, way := range p.Ways() {
			c.noteGenerator(cell, *t, i, way)
		}
		waitedForOwn(t.Nodes[of.From.Node], &p.Sender)
		waitedForOwn(t.Nodes[of.To.Node], &p.Receiver)
		limit := traffic.Judge(cell.Record.Load, p.Sender, p.Receiver)
		if busy, told := c.deviceBusy(cell, *t); told {
			limit = traffic.JudgeDevice(limit, p.Sender, p.Receiver, busy)
		}
		p.Limit = &limit
	}
}

// noteGenerator adds to one direction of a pair what is known of its generator. Where traffic flows back that is the other end's, and
// what an end offered tells who sent.
func (c *Conductor) noteGenerator(cell PlannedCell, t result.Trial, pair int, way result.Way) {
	p, of := &t.Pairs[pair], cell.Record.Pairs[pair]
	place, offered := of.From, way.Sender.Offered
	if way.Back {
		place = of.To
	}
	key := c.generatorAt(cell, place)
	if known := c.generators[key]; known > 0 && traffic.Calibrated(way.Sender) {
		if offered == nil && !way.Back {
			p.Sender.Offered = &result.Offered{}
			offered, way.Sender.Offered = p.Sender.Offered, p.Sender.Offered
		}
		if offered != nil {
			offered.CalibratedPerSecond = known
		}
	}
	if isWindow(t, way.Sender.WindowSeconds) { // else the trial does not count, and its rate may be any
		c.beaten(key, way.Sender)
	}
}

// waitedForOwn tells of an end's waits for a CPU how much was for the load's own work.
func waitedForOwn(node result.NodeSample, end *result.PairEnd) {
	for ; end != nil; end = end.Opposite {
		own := result.WaitedForOwn(end.Threads, len(node.CPUs), end.CPUSeconds, node.KernelThreadSeconds)
		if o := end.Offered; o != nil {
			o.PathSeconds = min(o.WaitSeconds, own)
		}
		if w := end.Waited; w != nil {
			w.PathSeconds = min(w.Seconds, own)
		}
	}
}

// deviceBusy is the busy share of the cores that only forwarded, where there are such. A core that a
// foreign program polls on is always busy, which tells nothing.
func (c *Conductor) deviceBusy(cell PlannedCell, t result.Trial) (share float64, told bool) {
	graph := cell.Laid.Graph
	if slices.ContainsFunc(graph.Daemons, func(d testbed.Daemon) bool { return d.Polls }) ||
		slices.ContainsFunc(graph.Nodes, func(n testbed.Node) bool { return len(c.cpus(n.Name)) < 2 }) {
		return 0, false
	}
	share, err := cell.Record.DeviceBusy(t)
	return share, err == nil
}
