// Package wire is the bare path: two nodes' own stacks and the link between them.
package wire

import (
	"windtunnel/datapath"
	"windtunnel/result"
)

// Path lays the bare wire.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// Plain says that these may be other systems than Linux.
func (Path) Plain() {}

// Name is the suite's word.
func (Path) Name() string { return "wire" }

// Says describes it.
func (Path) Says() string { return "the nodes' own stacks and the wire between them, nothing else" }

// Options are none.
func (Path) Options() []result.Option { return nil }

// Lay joins two nodes, each with its address on its end of the wire, or every two of more.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.BeginMesh(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	places, err := l.Processes()
	if err != nil {
		return datapath.Laid{}, err
	}
	if !l.Joined() {
		return datapath.Laid{}, l.Errorf("both ends are on node %s, and there is no wire within a node: use two nodes", places[0].Node)
	}
	if err := l.Wire(l.OnUnderlay); err != nil {
		return datapath.Laid{}, err
	}
	for _, place := range places {
		l.Reach(place.Node, l.Node(place.Node))
	}
	laid, err := l.Finish(l.Request.Wire.MTU)
	if err == nil && l.Mesh() { // where a node is reached depends on who asks
		for _, pair := range r.Pairs {
			laid.ByPair = append(laid.ByPair, l.Facing(pair.To.Node, pair.From.Node).String())
		}
	}
	return laid, err
}
