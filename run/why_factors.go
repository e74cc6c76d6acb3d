package run

import (
	"fmt"
	"reflect"
	"slices"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/scenario"
)

// factors is the registry of suspects: what may make one cell another than the other, one line each. Where the cells
// differ in a factor, the first is tried with the second's; where both have it, both are tried without it, so
// that the ratio is compared with the factor absent. Each says so where there is nothing to try.
var factors = []func(contrast) []attempt{
	one(contrast.gro),
	one(contrast.tso),
	one(contrast.segmentation),
	one(contrast.checksum),
	one(contrast.mtu),
	one(contrast.steering),
	one(contrast.queues),
	one(contrast.encapsulation),
	one(contrast.message),
	contrast.loads,
	contrast.options,
	contrast.wires,
	one(contrast.machines),
	one(contrast.cpu),
	one(contrast.quota),
	one(contrast.pairs),
}

// one makes a list of a single attempt; a factor without a name is none.
func one(of func(contrast) attempt) func(contrast) []attempt {
	return func(c contrast) []attempt {
		if a := of(c); a.factor != "" {
			return []attempt{a}
		}
		return nil
	}
}

const (
	off  = "off"
	auto = scenario.Auto

	runsAlready = "between places that run already nothing is changed"
)

// runAlready tells of places of which nothing but the load is ours.
func (c contrast) runAlready() bool {
	return c.over.Path == datapath.Existing || c.under.Path == datapath.Existing
}

// gro is whether receivers join the wire's packets to longer ones.
func (c contrast) gro() attempt {
	const factor = "gro"
	switch over, under := joins(c.over), joins(c.under); {
	case c.over.Wire.Kind == scenario.WireMemory || c.under.Wire.Kind == scenario.WireMemory:
		return untested(factor, "a wire of kind memory carries packets whole, and there is nothing to join")
	case over != under:
		return c.asUnder(factor, fmt.Sprintf("GRO %s, as in %s", onOff(under), c.under.Name), func(cell *scenario.Cell) { setJoins(cell, under) })
	case over:
		return c.inBoth(factor, "GRO off", func(cell *scenario.Cell) { setJoins(cell, false) })
	}
	return untested(factor, "nothing joins packets in either cell")
}

func joins(c scenario.Cell) bool {
	return c.Segmentation != scenario.SegmentationOff && c.Wire.GRO != off
}

func setJoins(c *scenario.Cell, on bool) {
	if !on {
		c.Wire.GRO = off
		return
	}
	c.Wire.GRO = auto
	if c.Segmentation == scenario.SegmentationOff {
		c.Segmentation = unjoined(*c)
	}
}

// unjoined is the segmentation of a cell that lacks large-send offload alone; a process's packets are cut by its wire
// of kind nic in any case.
func unjoined(c scenario.Cell) string {
	for _, p := range c.Pairs {
		if p.From.Container != "" || p.To.Container != "" {
			return scenario.SegmentationNoLSO
		}
	}
	return scenario.SegmentationFound
}

// tso is whether endpoints leave it to a device to cut what they send.
func (c contrast) tso() attempt {
	const factor = "tso"
	switch over, under := whole(c.over), whole(c.under); {
	case over != under:
		return c.asUnder(factor, fmt.Sprintf("TSO %s at the endpoints, as in %s", onOff(under), c.under.Name), func(cell *scenario.Cell) { setWhole(cell, under) })
	case over:
		return c.inBoth(factor, "TSO off at the endpoints", func(cell *scenario.Cell) { setWhole(cell, false) })
	}
	return untested(factor, "endpoints send no packets longer than the MTU in either cell")
}

func whole(c scenario.Cell) bool { return c.Segmentation == scenario.SegmentationFound }

func setWhole(c *scenario.Cell, on bool) {
	switch {
	case !on:
		c.Segmentation = scenario.SegmentationNoLSO
	case c.Segmentation == scenario.SegmentationOff:
		c.Segmentation, c.Wire.GRO = scenario.SegmentationFound, off
	default:
		c.Segmentation = scenario.SegmentationFound
	}
}

// segmentation is TSO, GSO and GRO together, where only one cell has them off everywhere.
func (c contrast) segmentation() attempt {
	const off = scenario.SegmentationOff
	if over, under := c.over.Segmentation, c.under.Segmentation; over != under && (over == off || under == off) {
		return c.asUnder("segmentation", fmt.Sprintf("segmentation %s, as in %s", under, c.under.Name), func(cell *scenario.Cell) {
			cell.Segmentation, cell.Wire.GRO = under, c.under.Wire.GRO
		})
	}
	return attempt{}
}

// checksum is whether endpoints leave checksums to a device.
func (c contrast) checksum() attempt {
	const factor, software = "checksum", scenario.ChecksumSoftware
	switch over, under := c.over.Checksum == software, c.under.Checksum == software; {
	case over != under:
		return c.asUnder(factor, fmt.Sprintf("checksums %s, as in %s", c.under.Checksum, c.under.Name), func(cell *scenario.Cell) { cell.Checksum = c.under.Checksum })
	case over:
		return untested(factor, "both cells finish checksums in software")
	}
	return c.inBoth(factor, "checksums in software, and with that no TSO,", func(cell *scenario.Cell) { cell.Checksum = software })
}

// jumbo is the MTU at which what a packet costs hardly counts.
const jumbo = 9000

func (c contrast) mtu() attempt {
	const factor = "mtu"
	switch over, under := c.over.Wire.MTU, c.under.Wire.MTU; {
	case over != under:
		return c.asUnder(factor, fmt.Sprintf("a wire of MTU %d, as in %s", under, c.under.Name), func(cell *scenario.Cell) { cell.Wire.MTU = under })
	case over >= jumbo:
		return untested(factor, "both wires have an MTU of %d, and a larger one would change little", over)
	}
	return c.inBoth(factor, fmt.Sprintf("a wire of MTU %d", jumbo), func(cell *scenario.Cell) { cell.Wire.MTU = jumbo })
}

// steering is which CPUs receive and switch.
func (c contrast) steering() attempt {
	const factor = "steering"
	over, under := c.over.Wire, c.under.Wire
	switch {
	case c.runAlready():
		return untested(factor, runsAlready)
	case over.Spread != under.Spread || over.VMQ != under.VMQ || over.Steer != under.Steer:
		return c.asUnder(factor, "work on those CPUs that "+c.under.Name+" has it on", func(cell *scenario.Cell) {
			cell.Wire.Spread, cell.Wire.VMQ, cell.Wire.Steer = under.Spread, under.VMQ, under.Steer
		})
	case c.cpus < spreadCPUs:
		return untested(factor, "a node has one CPU, which does all of its work")
	case c.flows() < spreadCPUs:
		return untested(factor, "one flow takes one CPU, however work is spread: give the load several `streams`")
	case over.Spread == scenario.SpreadBoth:
		return c.inBoth(factor, "work on one CPU a node", func(cell *scenario.Cell) { cell.Wire.Spread = scenario.SpreadNone })
	}
	return c.inBoth(factor, "work spread over a node's CPUs by flow", func(cell *scenario.Cell) { cell.Wire.Spread = scenario.SpreadBoth })
}

// flows are those of the cell that has fewer.
func (c contrast) flows() int {
	of := func(cell scenario.Cell) int {
		return len(cell.Pairs) * int(max(1, cell.Load.Int("streams"), cell.Load.Int("flows")))
	}
	return min(of(c.over), of(c.under))
}

func (c contrast) queues() attempt {
	const factor = "queues"
	switch over, under := c.over.Wire.Queues, c.under.Wire.Queues; {
	case c.runAlready():
		return untested(factor, runsAlready)
	case over != under:
		return c.asUnder(factor, "as many queues of the wire as in "+c.under.Name, func(cell *scenario.Cell) { cell.Wire.Queues = under })
	case over == 1:
		return untested(factor, "both wires have one queue")
	case c.cpus < spreadCPUs:
		return untested(factor, "a node has one CPU, which serves all queues")
	}
	return c.inBoth(factor, "one queue of the wire", func(cell *scenario.Cell) { cell.Wire.Queues = 1 })
}

// message is what TCP gets at once. Where it is small in both cells, a large one is tried.
func (c contrast) message() attempt {
	const factor, large = "message", int64(128 << 10)
	switch over, under := c.over.Load.Int(factor), c.under.Load.Int(factor); {
	case over != under || c.over.Traffic != c.under.Traffic:
		return attempt{} // as any option of the load
	case c.over.Traffic != streams:
		return untested(factor, "what a packet of this load carries is the load itself")
	case over >= large/2:
		return untested(factor, "both cells hand over %s at once, and more would change little", result.FormatSize(over))
	}
	return c.inBoth(factor, "messages of "+result.FormatSize(large), func(cell *scenario.Cell) { cell.Load[factor] = large })
}

// loads are the options of the load in which the cells differ.
func (c contrast) loads() []attempt {
	if c.over.Traffic != c.under.Traffic {
		return []attempt{untested("load", "%s has %s and %s has %s: loads of two kinds have nothing in between", c.over.Name, c.over.Traffic, c.under.Name, c.under.Traffic)}
	}
	return c.differing(c.words.Kinds[c.over.Traffic], c.over.Load, c.under.Load, func(cell *scenario.Cell) result.Options { return cell.Load })
}

// options are those of the path, where both cells have the same one; its encapsulation and its containers' quota are
// factors of their own.
func (c contrast) options() []attempt {
	if c.over.Path != c.under.Path {
		return nil
	}
	var own []result.Option
	for _, o := range c.words.Paths[c.over.Path] {
		if o.Name != optionEncapsulation && o.Name != datapath.OptionCPUs {
			own = append(own, o)
		}
	}
	return c.differing(own, c.over.PathOptions, c.under.PathOptions, func(cell *scenario.Cell) result.Options { return cell.PathOptions })
}

// differing are the options that differ, each as the second cell has it.
func (c contrast) differing(options []result.Option, over, under result.Options, of func(*scenario.Cell) result.Options) []attempt {
	var all []attempt
	for _, o := range options {
		value := under[o.Name]
		if reflect.DeepEqual(over[o.Name], value) {
			continue
		}
		written := "left out"
		if value != nil {
			written = result.FormatValue(o.Type, value)
		}
		all = append(all, c.asUnder(o.Name, fmt.Sprintf("%s %s, as in %s", o.Name, written, c.under.Name), func(cell *scenario.Cell) {
			if value == nil {
				delete(of(cell), o.Name)
			} else {
				of(cell)[o.Name] = value
			}
		}))
	}
	return all
}

// wires are the wire's other settings. A rate and a loss that both have are taken away: two cells at one ceiling look alike.
func (c contrast) wires() []attempt {
	var all []attempt
	over, under := c.over.Wire, c.under.Wire
	if over.Kind != under.Kind {
		all = append(all, c.asUnder("wire", fmt.Sprintf("a wire of kind %s, as in %s", under.Kind, c.under.Name), func(cell *scenario.Cell) { cell.Wire.Kind = under.Kind }))
	}
	if over.BitsPerSecond != under.BitsPerSecond {
		all = append(all, c.asUnder("rate", "the wire's rate as in "+c.under.Name, func(cell *scenario.Cell) { cell.Wire.BitsPerSecond = under.BitsPerSecond }))
	} else if over.BitsPerSecond > 0 {
		all = append(all, c.inBoth("rate", "no limit to the wire's rate", func(cell *scenario.Cell) { cell.Wire.BitsPerSecond = 0 }))
	}
	if over.Loss != under.Loss {
		all = append(all, c.asUnder("loss", "the wire's loss as in "+c.under.Name, func(cell *scenario.Cell) { cell.Wire.Loss = under.Loss }))
	} else if over.Loss > 0 {
		all = append(all, c.inBoth("loss", "no loss on the wire", func(cell *scenario.Cell) { cell.Wire.Loss = 0 }))
	}
	return all
}

// optionEncapsulation is what paths call the choice of their encapsulation.
const optionEncapsulation = "encapsulation"

// encapsulation is how packets are wrapped between nodes.
func (c contrast) encapsulation() attempt {
	const none = "none"
	if c.runAlready() {
		return untested(optionEncapsulation, runsAlready)
	}
	over, under := wrapped(c.over, c.words), wrapped(c.under, c.words)
	if over == none && under == none {
		return untested(optionEncapsulation, "packets are not wrapped in either cell")
	}
	target := none
	if over != under {
		target = under
	}
	if !wraps(c.over, target, c.words) || over == under && !wraps(c.under, target, c.words) {
		return untested(optionEncapsulation, "the path %s has none that is called %s", c.over.Path, target)
	}
	set := func(cell *scenario.Cell) { wrap(cell, target, c.words) }
	if over == under {
		return c.inBoth(optionEncapsulation, "no encapsulation", set)
	}
	return c.asUnder(optionEncapsulation, fmt.Sprintf("encapsulation %s, as in %s", target, c.under.Name), set)
}

// wrapped names a cell's encapsulation.
func wrapped(c scenario.Cell, words scenario.Vocabulary) string {
	if _, choice := encapsulations(c, words); choice {
		return c.PathOptions.Text(optionEncapsulation)
	}
	if _, ok := bare(c.Path); ok {
		return c.Path
	}
	return "none"
}

// wraps tells whether a cell's path can have an encapsulation.
func wraps(c scenario.Cell, word string, words scenario.Vocabulary) bool {
	if all, choice := encapsulations(c, words); choice {
		for _, w := range all {
			if w == word {
				return true
			}
		}
		return false
	}
	_, ok := bare(c.Path)
	return ok && word == "none"
}

func wrap(c *scenario.Cell, word string, words scenario.Vocabulary) {
	if _, choice := encapsulations(*c, words); choice {
		c.PathOptions[optionEncapsulation] = word
	} else if without, ok := bare(c.Path); ok {
		c.Path, c.PathOptions = without, result.Options{}
	}
}

// encapsulations are those that a cell's path offers, if it does.
func encapsulations(c scenario.Cell, words scenario.Vocabulary) ([]string, bool) {
	for _, o := range words.Paths[c.Path] {
		if o.Name == optionEncapsulation {
			return o.Words, true
		}
	}
	return nil, false
}

// bare is the path that another one is without its encapsulation.
func bare(name string) (string, bool) {
	p, _ := paths.ByName(name)
	return datapath.Bare(p)
}

// machines are what virtual machines have, where both cells have such and they differ.
func (c contrast) machines() attempt {
	if c.over.VM == c.under.VM || !inMachines(c.over) || !inMachines(c.under) {
		return attempt{}
	}
	return c.asUnder("vm", "virtual machines as in "+c.under.Name, func(cell *scenario.Cell) { cell.VM = c.under.VM })
}

func inMachines(c scenario.Cell) bool {
	for _, p := range c.Pairs {
		if p.From.VM != "" || p.To.VM != "" {
			return true
		}
	}
	return false
}

// cpu is whether more of them could do the work: the load is dealt to two threads at each end.
func (c contrast) cpu() attempt {
	const factor, threads, flows = "cpu", "threads", "streams"
	switch over, under := c.over.Load.Int(threads), c.under.Load.Int(threads); {
	case c.cpus < spreadCPUs && !c.runAlready(): // how many those have is not known before they are entered
		return untested(factor, "a node has one CPU, and there is no other to give it")
	case c.over.Traffic != streams || c.under.Traffic != streams:
		return untested(factor, "only streams are dealt to more threads without another load")
	case over != under:
		return attempt{} // as any option of the load
	case over >= spreadCPUs:
		return untested(factor, "the workers have %d threads at each end in both cells", over)
	}
	return c.inBoth(factor, "two streams on two threads", func(cell *scenario.Cell) {
		cell.Load[threads], cell.Load[flows] = int64(spreadCPUs), max(int64(spreadCPUs), cell.Load.Int(flows))
	})
}

// quota is the CPU time that a container engine lets a cell's containers have.
func (c contrast) quota() attempt {
	const factor = "quota"
	over, limits := quotaOf(c.over, c.words)
	under, _ := quotaOf(c.under, c.words)
	set := func(cell *scenario.Cell) {
		if cell.PathOptions[datapath.OptionCPUs] = under; under == "" {
			delete(cell.PathOptions, datapath.OptionCPUs)
		}
	}
	switch {
	case c.runAlready():
		return untested(factor, runsAlready)
	case !limits:
		return untested(factor, "the path %s limits nobody's CPU time: those of container engines do (`cpus`)", c.over.Path)
	case over == under && over == "":
		return untested(factor, "no container's CPU time is limited in either cell")
	case over == under:
		under = ""
		return c.inBoth(factor, "no limit to the containers' CPU time", set)
	case under == "":
		return c.asUnder(factor, "no limit to the containers' CPU time, as in "+c.under.Name, set)
	}
	return c.asUnder(factor, fmt.Sprintf("%s CPUs a container, as in %s", under, c.under.Name), set)
}

// quotaOf is how many CPUs a cell's containers may use, "" for all, and whether its path knows of such a limit.
func quotaOf(c scenario.Cell, words scenario.Vocabulary) (cpus string, limits bool) {
	limits = slices.ContainsFunc(words.Paths[c.Path], func(o result.Option) bool { return o.Name == datapath.OptionCPUs })
	return c.PathOptions.Text(datapath.OptionCPUs), limits
}

// pairs are never changed: who sends to whom is the question itself.
func (c contrast) pairs() attempt {
	if len(c.over.Pairs) == len(c.under.Pairs) {
		return attempt{}
	}
	return untested("pairs", "%s has %d and %s has %d: who sends to whom is the question itself", c.over.Name, len(c.over.Pairs), c.under.Name, len(c.under.Pairs))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return off
}
