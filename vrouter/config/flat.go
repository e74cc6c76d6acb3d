package config

import "windtunnel/vrouter/core"

// tableRecords is how many records each table has room for, but for the blocks.
var tableRecords = [TableCount]int{
	TableNode: 1, TableVifs: core.MaxVifs, TableVRFs: core.VRFSlots, TableNexthops: core.MaxNexthops,
	TableGroups: core.MaxGroups, TableLabels: core.MaxLabels, TableVNIs: core.MaxVNIs, TablePolicies: core.MaxPolicies,
	TableMACs: core.MACSlots, TableFloods: core.MaxFloods,
}

// Flat lays the image out as memory, one block a table: what a process that keeps the tables in its
// own memory loads.
func (m Image) Flat() [TableCount][]byte {
	var tables [TableCount][]byte
	for table, size := range TableBytes(m.pool.size, 0) {
		tables[table] = make([]byte, size)
	}
	plan := Diff(Image{}, m)
	for _, writes := range [][]Write{plan.Prepare, plan.Switch} {
		for _, w := range writes {
			copy(tables[w.Table][w.Offset:], w.Data)
		}
	}
	return tables
}
