package netns

import (
	"net/netip"
	"path/filepath"
	"strings"

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
		if p.Place != place || d == nil && p.Device+p.Socket == "" {
			continue
		}
		if tester = filepath.Join(c.dir, "nobody"); d != nil {
			tester = d.Socket
		}
		p.Socket = c.inFolder(p)
		prefix, err := netip.ParsePrefix(p.Address)
		return p, prefix.Addr(), tester, err == nil
	}
	return port, address, "", false
}

// inFolder writes the folders of its node's daemons into a port's socket.
func (c *cell) inFolder(p testbed.Port) string {
	socket := p.Socket
	for _, d := range c.graph.Part(c.graph.NodeOf(p.Place)).Daemons {
		socket = strings.ReplaceAll(socket, "{dir:"+d.Name+"}", c.daemonDir(d.Name))
	}
	return socket
}
