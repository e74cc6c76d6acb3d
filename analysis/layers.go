package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"windtunnel/result"
	"windtunnel/stats"
)

// NodeLayers is what a cell's CPU time on one node went to, over its trials. Reason says why that is not known.
type NodeLayers struct {
	Node          string
	Reason        string
	Trials        int           // with samples
	Costs         []LayerCost   // of the layers that were seen, in the table's order; what is beside the cell's work comes last
	Sum           LayerCost     // of all of these
	Measured      LayerCost     // the same by the CPUs' busy time, which is measured apart from the samples
	NotSampled    LayerCost     // what of the measured time is in no layer; below 0: what the layers have too much
	Coverage      result.Figure // the sum as percent of the measured time
	Sampled       result.Figure // the sum of samples alone as percent of it
	NoWakeUps     string        // why idle CPUs' wake-ups are not known of some trial: the sum is of its samples alone
	Misses        float64       // by how many percent the sum misses the measured time, beyond what so few samples make by chance
	Samples       uint64        // of all trials
	Cut           uint64        // of them, those whose stack was shortened to its outer frames to fit a record
	Lost          uint64        // of them, those that nothing is known of: other
	Late          uint64        // of them, those that came when their program had left the CPU: other, or beside the cell's work
	Packets       string        // which ones costs per packet are of: PerReceived or PerWire
	PeriodSeconds float64
}

// The packets that costs are of.
const (
	PerReceived = "received"
	PerWire     = "on the wire"
)

// LayerCost is a layer's CPU time, by what was received and in percent of the node's busy time as sampled.
type LayerCost struct {
	Layer     Layer
	PerKiB    result.Figure // ns
	PerPacket result.Figure // ns
	Share     result.Figure // percent
}

// LayerChange is what a layer costs in one cell more than in another, in ns per KiB, over blocks.
type LayerChange struct {
	Layer  Layer
	PerKiB result.Figure
}

// RatioLayers are the changes at one node, the largest first, or, with Node "", of all nodes together, where the cells
// are on different ones.
type RatioLayers struct {
	Node    string
	Changes []LayerChange
	Sum     result.Figure
}

func profilesByCell(profiles []result.Profile) map[string][]result.Profile {
	of := map[string][]result.Profile{}
	for _, p := range profiles {
		of[p.Cell] = append(of[p.Cell], p)
	}
	return of
}

// LayersOf are the node's; its Reason says if there are none.
func (c Cell) LayersOf(node string) NodeLayers {
	for _, l := range c.Layers {
		if l.Node == node {
			return l
		}
	}
	return NodeLayers{Node: node, Reason: "stacks were not sampled in this run"}
}

// trialLayers is one trial on one node.
type trialLayers struct {
	busy     map[Layer]float64 // CPUs that were busy with it, on the mean of the window
	measured float64           // CPUs that were busy, as measured
	kib      float64           // received by the second
	packets  float64           // by the second; 0: not known
	asked    float64           // how often a CPU was to be asked
	late     uint64            // samples
	profile  result.Profile    // without its tasks
}

// sum adds in one order, so that one file gives one figure.
func (t trialLayers) sum() (sum float64) {
	for _, layer := range slices.Sorted(maps.Keys(t.busy)) {
		sum += t.busy[layer]
	}
	return sum
}

// notSampled is what of the measured time is in no layer.
func (t trialLayers) notSampled() float64 {
	missing := t.measured - t.sum()
	if math.Abs(missing) < 1e-9*t.measured { // a sum's rounding
		return 0
	}
	return missing
}

// layers fills in the cell's layers, flames and what ratios need of them; sampled says whether the run was to sample.
func (c *Cell) layers(trials []result.Trial, profiles []result.Profile, sampled bool) {
	if c.Status != Measured || !sampled {
		return
	}
	type key struct {
		block, attempt int
		node           string
	}
	of := map[key]result.Profile{}
	for _, p := range profiles {
		of[key{p.Block, p.Attempt, p.Node}] = p
	}
	names := newLayerNames()
	c.blocks = map[string]map[int]trialLayers{}
	for _, node := range c.involved() {
		l := NodeLayers{Node: node, Reason: "no trial was sampled"}
		blocks, flame := map[int]trialLayers{}, newFlame()
		for _, t := range trials {
			p, ok := of[key{t.Block, t.Attempt, node}]
			if !ok {
				continue
			}
			one, err := c.trialLayers(t, p, names)
			if err != nil {
				l.Reason = err.Error()
				continue
			}
			blocks[t.Block] = one
			l.NoWakeUps = cmp.Or(l.NoWakeUps, p.IdleMissing)
			flame.add(p, names)
			l.PeriodSeconds = p.PeriodSeconds
		}
		if len(blocks) > 0 {
			l.Reason = ""
			plausibleWakeUps(blocks)
			l.fill(blocks, c.packetsOf(trials))
			c.blocks[node] = blocks
			c.Flames = append(c.Flames, Flame{Node: node, Trials: len(blocks), Root: flame})
		}
		c.Layers = append(c.Layers, l)
	}
}

// packetsOf says which packets the cell's costs are of; "" if none are known.
func (c Cell) packetsOf(trials []result.Trial) string {
	for _, t := range trials {
		if n, err := c.Spec.Value(t, result.ReceivedPacketRate); err == nil && n > 0 {
			return PerReceived
		}
		if n, err := c.Spec.Value(t, result.WirePacketRate); err == nil && n > 0 {
			return PerWire
		}
	}
	return ""
}

// trialLayers is what a profile says, beside what was measured.
func (c Cell) trialLayers(t result.Trial, p result.Profile, names layerNames) (trialLayers, error) {
	one := trialLayers{busy: map[Layer]float64{}}
	if p.Missing != "" {
		return one, fmt.Errorf("node %s: %s", p.Node, p.Missing)
	}
	sample := t.Nodes[p.Node]
	if len(sample.CPUs) == 0 || !(sample.WindowSeconds > 0) {
		return one, fmt.Errorf("node %s: the CPUs were not sampled", p.Node)
	}
	for _, cpu := range sample.CPUs {
		one.measured += cpu.Busy / sample.WindowSeconds
	}
	bits, err := c.Spec.Value(t, result.ReceivedRate)
	if err != nil {
		return one, err
	}
	if bits <= 0 {
		return one, fmt.Errorf("nothing was received")
	}
	one.kib = bits / 8 / 1024
	for _, m := range []result.Metric{result.WirePacketRate, result.ReceivedPacketRate} {
		if n, err := c.Spec.Value(t, m); err == nil && n > 0 {
			one.packets = n
		}
	}
	each, idlers := p.PeriodSeconds/p.WindowSeconds, 0.0
	one.asked, one.profile = float64(len(p.CPUs))/each, result.Profile{Taken: p.Taken, Lost: p.Lost, Cut: p.Cut, CPUs: p.CPUs}
	for _, task := range p.Tasks {
		for i, layer := range frameLayers(task, p.Names, names) {
			if n := task.Frames[i].Samples(); n > 0 && layer != layerIdle {
				one.busy[layer] += float64(n) * each
				switch {
				case task.Whose == result.OfIdle:
					idlers += float64(n) * each
				case p.Names[task.Frames[i].Name()] == result.LateFrame:
					one.late += uint64(n)
				}
			}
		}
	}
	if p.Lost > 0 {
		one.busy[LayerOther] += float64(p.Lost) * each
	}
	if worked, known := idleTasksWork(p, sample); known {
		one.busy[LayerWakeUps] = worked - idlers
	}
	return one, nil
}

// fill makes figures of trials.
func (l *NodeLayers) fill(blocks map[int]trialLayers, packets string) {
	l.Trials, l.Packets = len(blocks), packets
	order := sortedBlocks(blocks)
	over := func(value func(trialLayers) (float64, bool)) result.Figure {
		var samples []float64
		for _, b := range order {
			if v, ok := value(blocks[b]); ok {
				samples = append(samples, v)
			}
		}
		return stats.Mean(samples)
	}
	cost := func(layer Layer, busy func(trialLayers) float64) LayerCost {
		return LayerCost{Layer: layer,
			PerKiB:    over(func(t trialLayers) (float64, bool) { return busy(t) * 1e9 / t.kib, true }),
			PerPacket: over(func(t trialLayers) (float64, bool) { return busy(t) * 1e9 / t.packets, t.packets > 0 }),
			Share:     over(func(t trialLayers) (float64, bool) { return 100 * busy(t) / t.sum(), t.sum() > 0 }),
		}
	}
	for _, layer := range Layers() {
		if slices.ContainsFunc(order, func(b int) bool { return blocks[b].busy[layer] > 0 }) {
			l.Costs = append(l.Costs, cost(layer, func(t trialLayers) float64 { return t.busy[layer] }))
		}
	}
	l.Sum = cost("sum", trialLayers.sum)
	l.Measured = cost("measured", func(t trialLayers) float64 { return t.measured })
	l.NotSampled = cost("not sampled", trialLayers.notSampled)
	l.Coverage = over(func(t trialLayers) (float64, bool) { return 100 * t.sum() / t.measured, t.measured > 0 })
	l.Sampled = over(func(t trialLayers) (float64, bool) {
		return 100 * (t.sum() - t.busy[LayerWakeUps]) / t.measured, t.measured > 0
	})
	l.trust(blocks)
}

func sortedBlocks[T any](blocks map[int]T) []int {
	order := make([]int, 0, len(blocks))
	for b := range blocks {
		order = append(order, b)
	}
	slices.Sort(order)
	return order
}

// layerChanges is what over costs more than under.
func layerChanges(over, under Cell) []RatioLayers {
	if slices.Equal(over.involved(), under.involved()) {
		var all []RatioLayers
		for _, node := range over.involved() {
			if r, ok := changesAt(node, over.blocks[node], under.blocks[node]); ok {
				all = append(all, r)
			}
		}
		return all
	}
	if r, ok := changesAt("", over.together(), under.together()); ok {
		return []RatioLayers{r}
	}
	return nil
}

// together adds up the nodes of each block that has all of them.
func (c Cell) together() map[int]trialLayers {
	all, nodes := map[int]trialLayers{}, map[int]int{}
	for _, node := range c.involved() {
		for number, b := range c.blocks[node] {
			sum, ok := all[number]
			if !ok {
				sum = trialLayers{busy: map[Layer]float64{}, kib: b.kib}
			}
			for layer, busy := range b.busy {
				sum.busy[layer] += busy
			}
			all[number] = sum
			nodes[number]++
		}
	}
	for number, n := range nodes {
		if n < len(c.involved()) {
			delete(all, number)
		}
	}
	return all
}

// changesAt pairs two cells' trials by block, and orders the layers by how much they changed.
func changesAt(node string, over, under map[int]trialLayers) (RatioLayers, bool) {
	r := RatioLayers{Node: node}
	var both []int
	seen := map[Layer]bool{}
	for _, b := range sortedBlocks(over) {
		if _, ok := under[b]; !ok {
			continue
		}
		both = append(both, b)
		for _, t := range []trialLayers{over[b], under[b]} {
			for layer := range t.busy {
				seen[layer] = true
			}
		}
	}
	if len(both) == 0 {
		return r, false
	}
	change := func(busy func(trialLayers) float64) result.Figure {
		var more, less []float64
		for _, b := range both {
			more, less = append(more, busy(over[b])*1e9/over[b].kib), append(less, busy(under[b])*1e9/under[b].kib)
		}
		return stats.Difference(more, less)
	}
	for _, layer := range Layers() {
		if seen[layer] {
			r.Changes = append(r.Changes, LayerChange{layer, change(func(t trialLayers) float64 { return t.busy[layer] })})
		}
	}
	slices.SortStableFunc(r.Changes, func(a, b LayerChange) int {
		x, y := a.PerKiB.Mean*a.PerKiB.Mean, b.PerKiB.Mean*b.PerKiB.Mean
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return strings.Compare(string(a.Layer), string(b.Layer))
	})
	r.Sum = change(trialLayers.sum)
	return r, true
}
