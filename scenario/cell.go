package scenario

import (
	"fmt"

	"windtunnel/result"
)

// The ways of Cell.Segmentation.
const (
	SegmentationFound = "as-found"
	SegmentationNoLSO = "no-lso"
	SegmentationOff   = "off"
)

// The ways of Cell.Checksum.
const (
	ChecksumFound    = "as-found"
	ChecksumSoftware = "software"
)

// draft is a cell in the making: what was set so far, by the suite, by the cell
// that it is like, and by its own layers. Copies share nothing that changes.
type draft struct {
	r       *reader
	cell    Cell
	path    kinded
	traffic kinded
	beside  kinded
	paired  bool // rightly or not: that pairs are missing is not the error
	lost    bool // it should have been like another cell, which is not there
}

func (r *reader) newDraft() draft {
	return draft{
		r: r,
		cell: Cell{
			Segmentation: SegmentationFound,
			Checksum:     ChecksumFound,
			Wire:         Wire{Kind: WireNIC, MTU: defaultMTU, VMQ: Auto, Spread: Auto, GRO: Auto, Steer: Auto},
			VM:           VM{CPUs: 1, MemoryBytes: defaultVMMemory, Queues: 1},
		},
		path:    kinded{what: "path", known: r.vocab.Paths},
		traffic: kinded{what: "traffic", known: r.vocab.Kinds},
		beside:  kinded{what: "beside", known: r.vocab.Kinds},
	}
}

func (d *draft) setTraffic(n *node) { d.traffic.apply(d.r, n) }

// setBeside takes the load beside the traffic; `none` takes an inherited one away.
func (d *draft) setBeside(n *node) {
	if n.shape == scalar && n.text == "none" {
		d.beside.kind, d.beside.options = "", nil
		return
	}
	d.beside.apply(d.r, n)
}

func (d *draft) setPath(n *node) { d.path.apply(d.r, n) }

func (d *draft) setSegmentation(n *node) {
	if v, ok := d.r.word(n, "segmentation", []string{SegmentationFound, SegmentationNoLSO, SegmentationOff}); ok {
		d.cell.Segmentation = v
	}
}

func (d *draft) setChecksum(n *node) {
	if v, ok := d.r.word(n, "checksum", []string{ChecksumFound, ChecksumSoftware}); ok {
		d.cell.Checksum = v
	}
}

// What virtual machines may have. defaultVMMemory holds the guest's kernel and this program, and sockets' buffers.
const (
	defaultVMMemory = 256 << 20
	minVMMemory     = 160 << 20
	maxVMMemory     = 1 << 40
	maxVMCPUs       = 288
	maxVMNICs       = 8
)

func (d *draft) setVM(n *node) {
	r, vm := d.r, &d.cell.VM
	r.readKeys(n, "`vm`", []handler{
		{key: "cpus", read: func(n *node) {
			if v, ok := r.count(n, "`cpus` of a VM", 1, maxVMCPUs); ok {
				vm.CPUs = v
			}
		}},
		{key: "memory", read: func(n *node) {
			v, ok := parsed(r, n, "`memory` of a VM", result.ParseSize)
			switch {
			case !ok:
			case v < minVMMemory || v > maxVMMemory || v%(1<<20) != 0:
				r.add(n.at, fmt.Sprintf("`memory` of a VM is %s; it is in whole MiB, from %dMiB to 1TiB", result.Clip(n.text), minVMMemory>>20))
			default:
				vm.MemoryBytes = v
			}
		}},
		{key: "queues", read: func(n *node) {
			if v, ok := r.count(n, "`queues` of a VM", 1, maxVMCPUs); ok {
				vm.Queues = v
			}
		}},
	})
}

func (d *draft) setWindow(n *node) {
	v, ok := parsed(d.r, n, "`window`", result.ParseDuration)
	if !ok {
		return
	}
	if v < minWindow || v > maxWindow {
		d.r.add(n.at, fmt.Sprintf("`window` is %s; it lies between 100ms and 10m", result.Clip(n.text)))
		return
	}
	d.cell.Window = v
}

func (d *draft) setSays(n *node) {
	if v, ok := d.r.text(n, "`says`"); ok {
		d.cell.Says = v
	}
}

// patchKeys are the keys that any layer of a cell may have.
func (d *draft) patchKeys() []handler {
	return []handler{
		{key: "says", read: d.setSays},
		{key: "path", read: d.setPath},
		{key: "traffic", read: d.setTraffic},
		{key: "beside", read: d.setBeside},
		{key: "wire", read: d.setWire},
		{key: "segmentation", read: d.setSegmentation},
		{key: "checksum", read: d.setChecksum},
		{key: "pairs", read: d.setPairs},
		{key: "vm", read: d.setVM},
		{key: "requires", read: func(n *node) { d.r.readRequires(n, &d.cell.Requires) }},
		{key: "window", read: d.setWindow},
	}
}

// layer is one part of a cell's text: its own body, or a matrix axis's patch.
type layer struct {
	body *node
	what string // for messages
	like bool   // it may say `like`
	own  bool   // it speaks of one cell only, so it may say `published`
}

func (d *draft) apply(l layer) {
	handlers := d.patchKeys()
	like := handler{key: "like", read: func(*node) {}} // resolve has read it
	if !l.like {
		like.misplaced = "an axis cannot say `like`; the matrix's cell can"
	}
	published := handler{key: "published", read: func(n *node) { d.r.readFigures(n, &d.cell) }}
	if !l.own {
		published.misplaced = "published figures belong to one cell; say `published: {NAME: {...}}` for the suite"
	}
	d.lost = d.lost || l.body.shape == scalar || l.body.shape == list
	handlers = append(handlers, like, published)
	d.r.readKeys(l.body, l.what, handlers)
}

// finish checks that the cell is whole and fills in what was left out.
func (d *draft) finish() Cell {
	cell, r := d.cell, d.r
	at := position{cell.Line, cell.Column}
	if !d.path.said && !d.lost {
		r.add(at, fmt.Sprintf("the cell %s has no path; say `path: NAME` (valid: %s)", cell.Name, result.Listed(sortedKeys(r.vocab.Paths))))
	}
	if !d.traffic.said && !d.lost {
		r.add(at, fmt.Sprintf("the cell %s has no traffic; say `traffic: {kind: NAME}`, here or for the suite (valid: %s)", cell.Name, result.Listed(sortedKeys(r.vocab.Kinds))))
	}
	if !d.paired && !d.lost {
		r.add(at, fmt.Sprintf("the cell %s has no pairs; say `pairs: [{from: a, to: b}]`", cell.Name))
	}
	cell.Path, cell.PathOptions = d.path.kind, d.path.defaulted()
	cell.Traffic, cell.Load = d.traffic.kind, d.traffic.defaulted()
	cell.Find = d.traffic.find
	cell.Beside, cell.BesideLoad = d.beside.kind, d.beside.defaulted()
	if r.runAlready(cell.Nodes()) {
		asTheSystemHas(cell.Load, d.traffic.options)
		asTheSystemHas(cell.BesideLoad, d.beside.options)
	}
	return cell
}

// inherit begins a cell with what another one has. Its words and its published
// figures are its own.
func (d draft) inherit() draft {
	d.cell.Says, d.cell.Published = "", nil
	return d
}

// Nodes lists the nodes that the cell's pairs stand on, each once, in order.
func (c Cell) Nodes() []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range c.Pairs {
		for _, place := range []result.Place{p.From, p.To} {
			if !seen[place.Node] {
				seen[place.Node] = true
				names = append(names, place.Node)
			}
		}
	}
	return names
}
