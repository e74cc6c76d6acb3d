package netns

import (
	"net/netip"
	"path/filepath"

	"windtunnel/testbed"
)

// Port returns a place's port and the socket of its tester, false if it has none. That of a port
// without a tester is nobody's, in a folder that only the cell uses.
func (b *Backend) Port(cell, place string) (port testbed.Port, address netip.Addr, tester string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.cells[cell]
	if c == nil {
		return port, address, "", false
	}
	for _, p := range c.graph.Ports {
		d := c.daemons[p.Tester]
		if p.Place != place || d == nil && p.Device == "" {
			continue
		}
		if tester = filepath.Join(c.dir, "nobody"); d != nil {
			tester = d.Socket
		}
		prefix, err := netip.ParsePrefix(p.Address)
		return p, prefix.Addr(), tester, err == nil
	}
	return port, address, "", false
}
