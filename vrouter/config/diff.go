package config

import (
	"bytes"
	"encoding/binary"
	"slices"

	"windtunnel/vrouter/core"
)

// Table is one of the data path's tables.
type Table int

// The tables, with their records' types.
const (
	TableNode     Table = iota // core.Node, one
	TableVifs                  // core.Vif
	TableVRFs                  // core.VRF
	TableNexthops              // core.Nexthop
	TableGroups                // core.Group
	TableLabels                // uint64, of which the lower half is the nexthop
	TableVNIs                  // core.VNIWord
	TablePolicies              // core.Policy
	TableMACs                  // core.MAC
	TableFloods                // core.Flood
	TableBlocks                // core.Block, of the route tables
	TableHosts                 // core.Hosts, buckets: written by [Hosts] alone
	TableCount
)

// RecordSize is the length of a table's records, in bytes.
var RecordSize = [TableCount]int{
	TableNode: core.SizeNode, TableVifs: core.SizeVif, TableVRFs: core.SizeVRF,
	TableNexthops: core.SizeNexthop, TableGroups: core.SizeGroup, TableLabels: 8, TableVNIs: 8, TablePolicies: core.SizePolicy, TableBlocks: core.SizeBlock,
	TableMACs: core.SizeMAC, TableFloods: core.SizeFlood, TableHosts: core.SizeHosts,
}

// Write is one change of a table's memory: Data, little-endian, from a byte offset on. Those of
// Plan.Switch are 8 bytes long, aligned, and must be made with one store.
type Write struct {
	Table  Table
	Offset uint32
	Data   []byte
}

// Plan leads from one image to the next, while packets flow:
//
//  1. Prepare writes what nothing refers to yet, and [Hosts.Forget] takes Hosts out;
//  2. Switch turns packets over to it, a word at a time;
//  3. then ports are attached and detached, and every packet under way is waited for;
//  4. Retire wipes what nothing refers to any more, the blocks in Retired may be given to
//     [Image.Release], and [Image.Remember] puts Hosts in again.
type Plan struct {
	Prepare, Switch, Retire []Write
	Retired                 []uint32
	Hosts                   []Single
}

// Empty tells that nothing changes.
func (p Plan) Empty() bool { return len(p.Prepare)+len(p.Switch)+len(p.Retire) == 0 }

// Diff finds the plan. Next must have been made with previous at hand: see [Config.Image].
func Diff(previous, next Image) Plan {
	var p Plan
	for _, slot := range sortedSlots(next.tables) {
		p.routes(slot, previous.tables[slot], next.tables[slot])
	}
	for _, slot := range sortedSlots(previous.tables) {
		if _, kept := next.tables[slot]; !kept {
			p.routes(slot, previous.tables[slot], routeTable{})
		}
	}
	records(&p, TableNexthops, previous.Nexthops, next.Nexthops)
	forgotten := p.takeForgotten()
	records(&p, TableGroups, previous.Groups, next.Groups)
	p.Switch = append(p.Switch, forgotten...)
	records(&p, TableFloods, previous.Floods, next.Floods)
	p.macs(previous.MACs, next.MACs) // before there is a bridge that looks for them
	records(&p, TableVRFs, previous.VRFs, next.VRFs)
	records(&p, TablePolicies, previous.Policies, next.Policies)
	records(&p, TableVifs, previous.Vifs, next.Vifs)
	switchWords(&p, TableLabels, previous.Labels, next.Labels)
	switchWords(&p, TableVNIs, previous.VNIs, next.VNIs)
	p.macsGone(previous.MACs, next.MACs)
	p.words(TableNode, 0, encode(previous.Node), encode(next.Node))
	return p
}

// encode gives a record's bytes as C has them. The records have no padding; a test looks.
func encode(record any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, record); err != nil {
		panic(err) // a record is of fixed size, or the package is wrong
	}
	return b.Bytes()
}

// routes adds what is new in a VRF's routes, and what is not there any more.
func (p *Plan) routes(vrf uint32, previous, next routeTable) {
	p.hosts(vrf, previous.v4, next.v4)
	var d difference
	d.between(previous.v4, next.v4)
	d.between(previous.v6, next.v6)
	memory := make([]byte, 0, len(d.made)*core.SizeBlock)
	for _, b := range d.made {
		at := len(memory)
		memory = b.encode(memory)
		p.Prepare = append(p.Prepare, Write{TableBlocks, b.number * core.SizeBlock, memory[at:]})
	}
	p.Retired = append(p.Retired, d.gone...)
}

func records[R comparable](p *Plan, table Table, previous, next map[uint32]R) {
	size := uint32(RecordSize[table])
	for _, slot := range sortedSlots(next) {
		if old, ok := previous[slot]; !ok {
			p.Prepare = append(p.Prepare, Write{table, slot * size, encode(next[slot])})
		} else if old != next[slot] {
			p.words(table, slot*size, encode(old), encode(next[slot]))
		}
	}
	for _, slot := range sortedSlots(previous) {
		if _, ok := next[slot]; !ok {
			p.Retire = append(p.Retire, Write{table, slot * size, make([]byte, size)})
		}
	}
}

// words adds what changed in a record that is in use, eight bytes at a time: each pair of 32-bit
// fields that share a word may change together.
func (p *Plan) words(table Table, offset uint32, old, new []byte) {
	for at := 0; at < len(new); at += 8 {
		if !bytes.Equal(old[at:at+8], new[at:at+8]) {
			p.Switch = append(p.Switch, Write{table, offset + uint32(at), new[at : at+8]})
		}
	}
}

// takeForgotten takes out the switches of nexthops whose MAC is not known any more. They come after
// those of the groups, which send no flow there then; and a MAC that is new comes before.
func (p *Plan) takeForgotten() (forgotten []Write) {
	p.Switch = slices.DeleteFunc(p.Switch, func(w Write) bool {
		gone := w.Offset%core.SizeNexthop == 0 && binary.LittleEndian.Uint64(w.Data)&core.MACKnown == 0
		if gone {
			forgotten = append(forgotten, w)
		}
		return gone
	})
	return forgotten
}

// switchWords adds what changed in a table of single words. What goes is wiped after what comes is
// there.
func switchWords[W uint32 | uint64](p *Plan, table Table, previous, next map[uint32]W) {
	for _, slot := range sortedSlots(next) {
		if previous[slot] != next[slot] {
			p.Switch = append(p.Switch, Write{table, slot * 8, binary.LittleEndian.AppendUint64(nil, uint64(next[slot]))})
		}
	}
	for _, slot := range sortedSlots(previous) {
		if _, ok := next[slot]; !ok {
			p.Switch = append(p.Switch, Write{table, slot * 8, make([]byte, 8)})
		}
	}
}

// ReadNode reads the node's record of its table's memory.
func ReadNode(table []byte) (node core.Node) {
	decodeRecord(table[:core.SizeNode], &node)
	return node
}

// Read makes an image of tables as they are: each is a table's whole memory.
func Read(tables [TableCount][]byte) Image {
	m := Image{
		Vifs: readRecords(tables[TableVifs], core.SizeVif, func(r core.Vif) bool { return r.ID != 0 }),
		VRFs: readRecords(tables[TableVRFs], core.SizeVRF, func(r core.VRF) bool { return r.ID != 0 }),
		Nexthops: readRecords(tables[TableNexthops], core.SizeNexthop, func(r core.Nexthop) bool {
			return r.Type != core.NexthopNone
		}),
		Groups:   readGroups(tables[TableGroups]),
		Labels:   make(map[uint32]uint32),
		Policies: readRecords(tables[TablePolicies], core.SizePolicy, func(r core.Policy) bool { return r.ID != 0 }),
		VNIs:     readRecords(tables[TableVNIs], 8, func(r uint64) bool { return r != 0 }),
		MACs:     readRecords(tables[TableMACs], core.SizeMAC, func(r core.MAC) bool { return r.Key != 0 }),
		Floods:   readRecords(tables[TableFloods], core.SizeFlood, func(r core.Flood) bool { return r.Count != 0 }),
		tables:   make(map[uint32]routeTable),
	}
	m.Node = ReadNode(tables[TableNode])
	for label, nexthop := range readRecords(tables[TableLabels], 8, func(r uint64) bool { return r != 0 }) {
		m.Labels[label] = uint32(nexthop)
	}
	m.readTables(tables[TableBlocks])
	return m
}

func decodeRecord(data []byte, into any) {
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, into); err != nil {
		panic(err) // as in encode
	}
}

func readRecords[R any](memory []byte, size int, used func(R) bool) map[uint32]R {
	found := make(map[uint32]R)
	zero := make([]byte, size)
	for slot := 0; (slot+1)*size <= len(memory); slot++ {
		data := memory[slot*size : (slot+1)*size]
		if bytes.Equal(data, zero) {
			continue
		}
		var r R
		if decodeRecord(data, &r); used(r) {
			found[uint32(slot)] = r
		}
	}
	return found
}
