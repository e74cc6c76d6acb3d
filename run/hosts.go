package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/testbed"
)

// NIC is the interface of a real host that is its node's end of the wire, as a path needs it.
type NIC = testbed.NIC

// look asks each of the nodes' machines, told whose it is, and names the one that says something: this one for all, as
// that of "", if nodes are simulated.
func (h Host) look(nodes []string, at func(h Host, node string) string) string {
	if h.Nodes == nil {
		return at(h, "")
	}
	for _, node := range nodes {
		if why := at(h.Nodes[node], node); why != "" {
			return fmt.Sprintf("node %s: %s", node, why)
		}
	}
	return ""
}

// shares are which CPUs do the nodes' work: each real host's own.
func (h Host) shares(nodes []scenario.Node) ([]nodeCPUs, error) {
	if h.Nodes == nil {
		return shareCPUs(h.CPUs, nodes)
	}
	if err := h.Named(nodes); err != nil {
		return nil, err
	}
	var shares []nodeCPUs
	for _, node := range nodes {
		cpus := h.Nodes[node.Name].CPUs
		if len(cpus) == 0 {
			return nil, fmt.Errorf("the host of node %s shows no usable CPU", node.Name)
		}
		shares = append(shares, nodeCPUs{name: node.Name, cpus: cpus})
	}
	return shares, nil
}

// Named refuses hosts that are not exactly those of the suite's nodes.
func (h Host) Named(nodes []scenario.Node) error {
	var wanted []string
	for _, node := range nodes {
		wanted = append(wanted, node.Name)
	}
	for _, given := range slices.Sorted(maps.Keys(h.Nodes)) {
		if !slices.Contains(wanted, given) {
			return fmt.Errorf("--nodes names %s, and the suite's nodes are %s", given, strings.Join(wanted, ", "))
		}
	}
	for _, want := range wanted {
		if _, given := h.Nodes[want]; !given {
			return fmt.Errorf("--nodes names no host for node %s: the suite's nodes are %s", want, strings.Join(wanted, ", "))
		}
	}
	return nil
}

// node is a node as paths see it.
func (h Host) node(n result.RunNode) testbed.Node {
	host := h.Nodes[n.Name]
	return testbed.Node{Name: n.Name, CPUs: n.CPUs, Exec: n.Exec, NIC: host.NIC, Members: host.Members, Engine: host.Engine, Architecture: host.Architecture}
}

// partOf is what of a graph a node's machine has, "" being one that has all of it.
func partOf(g Graph, node string) Graph {
	if node == "" {
		return g
	}
	return g.Part(node)
}

// wire is the one of a cell: between real hosts, the one that there is.
func (h Host) wire(cell scenario.Cell, settings Settings) datapath.Wire {
	wire := datapath.Wire{Kind: cell.Wire.Kind, MTU: cell.Wire.MTU, Queues: cell.Wire.Queues, VMQ: cell.Wire.VMQ, Spread: cell.Wire.Spread,
		GRO: cell.Wire.GRO, Steer: cell.Wire.Steer, BitsPerSecond: cell.Wire.BitsPerSecond, Loss: cell.Wire.Loss}
	if settings.Wire != "" {
		wire.Kind = settings.Wire
	}
	if h.Nodes != nil {
		wire.Kind = testbed.WireNetwork
	}
	return wire
}

// unlaid says why a path cannot be laid between real hosts.
func (h Host) unlaid(path datapath.Path, wire datapath.Wire, cell scenario.Cell) string {
	switch {
	case h.Nodes == nil:
		return ""
	case !datapath.OverHosts(path):
		return fmt.Sprintf("the path %s is laid on simulated nodes only: %s", path.Name(), datapath.NotOverHosts(path))
	case h.systems(cell.Pairs) != "":
		if why := unplain(path, cell); why != "" {
			return fmt.Sprintf("%s: %s", h.systems(cell.Pairs), why)
		}
	case h.mesh(cell.Pairs):
		if unplain(path, cell) != "" {
			return "its pairs use more than two hosts, each with one interface for data: by that only processes of the path wire, with nothing made or set, and places that run already, are measured"
		}
	}
	links := datapath.Links(path, cell.PathOptions)
	switch {
	case cell.Wire.Kind == datapath.WireMemory:
		return "its wire is memory, and real hosts have a network between them"
	case h.unjoined(cell.Pairs, links) != "":
		return h.unjoined(cell.Pairs, links)
	case (datapath.InPlace(path) || h.inPlace(path, cell)) && h.queues(wire, cell.Pairs) != "":
		return h.queues(wire, cell.Pairs)
	case asked(wire.GRO) || asked(wire.Steer) || wire.BitsPerSecond > 0 || wire.Loss > 0:
		return "it says how its wire joins, steers, shapes or drops packets, and real hosts' interfaces are left as they are"
	case datapath.InPlace(path):
		return h.withoutEngine(cell.Pairs)
	}
	if h.inPlace(path, cell) { // nothing is taken
		return ""
	}
	return cmp.Or(h.fixed(cell.Pairs, links), h.narrow(cell.Pairs, links, wire.MTU))
}

// narrow says which interface of a cell of two nodes cannot have its wire's MTU, "" if all can.
func (h Host) narrow(pairs []result.Pair, links, mtu int) string {
	for _, end := range h.ends(pairs, links) {
		if end.MostMTU > 0 && mtu > end.MostMTU {
			return fmt.Sprintf("node %s: its wire is to have an MTU of %d, and the interface %s can have %d at most", end.node, mtu, end.Device, end.MostMTU)
		}
	}
	return ""
}

// inPlace tells whether the nodes of a cell are hosts' own stacks, whatever its path. In a suite with a mesh, which has to be, so is
// what can: an interface that was taken has another MTU and other offloads, and a ratio of the two would be of those.
func (h Host) inPlace(path datapath.Path, cell scenario.Cell) bool {
	if h.systems(cell.Pairs) != "" || h.mesh(cell.Pairs) {
		return true
	}
	return h.meshed && unplain(path, cell) == "" && datapath.Segmentation(cell.Segmentation) != datapath.SegmentationOff
}

// mesh tells whether pairs use more than two real hosts.
func (h Host) mesh(pairs []result.Pair) bool {
	nodes := map[string]bool{}
	for _, pair := range pairs {
		nodes[pair.From.Node], nodes[pair.To.Node] = true, true
	}
	return h.Nodes != nil && len(nodes) > 2
}

// systems names the hosts of a cell's nodes that are no Linux, "" if all are.
func (h Host) systems(pairs []result.Pair) string {
	var all []string
	for _, pair := range pairs {
		for _, node := range []string{pair.From.Node, pair.To.Node} {
			if system := h.Nodes[node].System; system != "" {
				all = append(all, fmt.Sprintf("node %s is %s", node, system))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " and ")
}

// unplain says why a cell cannot be measured where nothing is built or set, "" if it can.
func unplain(path datapath.Path, cell scenario.Cell) string {
	for _, pair := range cell.Pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			if place.Container != "" || place.VM != "" {
				return fmt.Sprintf("%s would be made there, and testbeds are made of Linux: only processes of the path wire, and places that run already, are measured on other systems", place.Name())
			}
		}
	}
	switch {
	case !datapath.Plain(path):
		return fmt.Sprintf("the path %s is made of Linux: only processes of the path wire, and places that run already, are measured on other systems", path.Name())
	case cell.Traffic == rawFrames || cell.Beside == rawFrames:
		return "raw frames are made and counted by Linux"
	case cell.Checksum == scenario.ChecksumSoftware:
		return "`checksum: software` would change its interface, and nothing is set there"
	}
	return ""
}

// fixed says why an interface cannot be taken for a cell of two nodes.
func (h Host) fixed(pairs []result.Pair, links int) string {
	for _, end := range h.ends(pairs, links) {
		if end.Fixed != "" {
			return fmt.Sprintf("node %s: %s", end.node, end.Fixed)
		}
	}
	return ""
}

// AnyQueues is of an interface that has as many receive queues as are asked for, where hosts were not looked at yet.
const AnyQueues = -1

// Words of a wire's vmq and spread.
const (
	vmqOn      = "on"
	spreadNone = "none"
)

// queues says why the hosts' interfaces have not the queues that a wire asks for, "" if they have. It is about cells in the hosts' own
// stacks, where they are left as they are, so it may ask for their number, or for no choice among them, which one queue leaves none of.
func (h Host) queues(wire datapath.Wire, pairs []result.Pair) string {
	one := asked(wire.VMQ) || asked(wire.Spread)
	if wire.VMQ == vmqOn || asked(wire.Spread) && wire.Spread != spreadNone || one && wire.Queues > 1 {
		return "it says which queue of its wire, or which CPU, takes which packets, and hosts' interfaces in their own stacks are left as they are: there, only `vmq: off` with `spread: none` is to be had, where they have one queue"
	}
	want := wire.Queues
	if one {
		want = 1
	}
	if want == 0 {
		return ""
	}
	for _, pair := range pairs {
		for _, node := range []string{pair.From.Node, pair.To.Node} {
			nic := h.Nodes[node].NIC
			switch {
			case nic != nil && one && nic.Steered:
				return fmt.Sprintf("node %s: one CPU is to receive, and the host steers what the interface %s receives to others (rps_cpus)", node, nic.Device)
			case nic == nil || nic.Queues == want || nic.Queues == AnyQueues:
			case nic.Queues == 0:
				return fmt.Sprintf("node %s: its wire is to have %d receive queues, and the interface %s does not say how many it has", node, want, nic.Device)
			default:
				return fmt.Sprintf("node %s: its wire is to have %d receive queues, and the interface %s has %d, which are left as they are: set them so yourself (`ethtool -L %s combined %d`)",
					node, want, nic.Device, nic.Queues, nic.Device, want)
			}
		}
	}
	return ""
}

// withoutEngine says which host of a cell that containers of engines are in lacks one, or an interface for data.
func (h Host) withoutEngine(pairs []result.Pair) string {
	for _, pair := range pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			host := h.Nodes[place.Node]
			if host.NIC == nil {
				return fmt.Sprintf("node %s has no interface for data: %s", place.Node, cmp.Or(host.NoNIC, "none was found"))
			}
			if place.Container != "" && host.Engine == nil {
				return fmt.Sprintf("node %s: %s", place.Node, cmp.Or(host.NoEngine, "its container engine was not looked for"))
			}
		}
	}
	return ""
}

// asked reports whether a suite says what a wire's queues do.
func asked(word string) bool { return word != "" && word != scenario.Auto }
