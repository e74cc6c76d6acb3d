package config

import (
	"errors"
	"iter"
	"net/netip"

	"windtunnel/vrouter/core"
)

// addRoute puts a route into a VRF's table.
func (b *builder) addRoute(vrf uint32, prefix netip.Prefix, nexthop, label uint32) {
	t := b.next.tables[vrf]
	t.set(prefix, core.MakeRoute(nexthop, label, prefix.Bits()))
	b.next.tables[vrf] = t
}

// addTables gives the new blocks their places, and the VRFs their roots.
func (b *builder) addTables() error {
	pool := b.next.pool
	pool.begin()
	for slot, vrf := range b.next.VRFs {
		t, old := b.next.tables[slot], b.previous.tables[slot]
		t.v4.adopt(old.v4)
		t.v6.adopt(old.v6)
		if err := errors.Join(t.v4.settle(pool), t.v6.settle(pool)); err != nil {
			pool.rollback()
			return err
		}
		vrf.Root4, vrf.Root6 = t.v4.settled(), t.v6.settled()
		vrf.Slot, vrf.Flags = uint16(slot), vrf.Flags&^core.VRFHosts|uint16(flag(t.mostlyHosts(), core.VRFHosts))
		b.next.VRFs[slot] = vrf
	}
	return nil
}

// Discard says that the image, the last that was made, will never be used.
func (m Image) Discard() { m.pool.rollback() }

// Release gives back blocks of a plan once no packet can be in them, so that later images may use
// their places.
func (m Image) Release(retired []uint32) { m.pool.free = append(m.pool.free, retired...) }

// RouteCount is how many routes lead to other nodes.
func (m Image) RouteCount() int { return m.routes }

// Lookup finds the route of an address in a VRF as the data path does; 0 if there is none.
func (m Image) Lookup(vrf uint32, address netip.Addr) core.Route {
	return m.tables[vrf].lookup(address)
}

// Routes lists a VRF's routes, each prefix once, in the order of their addresses.
func (m Image) Routes(vrf uint32) iter.Seq[RouteEntry] { return m.tables[vrf].all() }

// readTables finds the routes of the VRFs in the table of blocks.
func (m *Image) readTables(table []byte) {
	var roots []*block
	for slot, vrf := range m.VRFs {
		var t routeTable
		if vrf.Root4 != 0 {
			t.v4 = readBlock(table, vrf.Root4, 0)
		}
		if vrf.Root6 != 0 {
			t.v6 = readBlock(table, vrf.Root6, 0)
		}
		for entry := range t.all() {
			t.count(entry.Prefix, 1)
		}
		m.tables[slot] = t
		roots = append(roots, t.v4, t.v6)
	}
	m.pool = readPool(uint32(len(table)/core.SizeBlock), roots)
}
