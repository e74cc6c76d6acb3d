// Package bridge is the path through a Linux bridge on each node: containers on
// it, and the wire as one of its ports.
package bridge

import (
	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays containers behind bridges.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// Name is the suite's word.
func (Path) Name() string { return "bridge" }

// Says describes it.
func (Path) Says() string {
	return "containers behind a Linux bridge on each node, without encapsulation"
}

// Options are none.
func (Path) Options() []result.Option { return nil }

// Lay makes one layer 2 segment of all containers. On one node there is no wire.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.BeginMesh(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	containers, err := l.Endpoints()
	if err != nil {
		return datapath.Laid{}, err
	}
	for _, node := range l.Graph.Nodes {
		l.Bridge(node.Name, r.Wire.MTU)
	}
	if l.Joined() {
		// Wires do not hear of each other at a bridge, so that what is for everybody does not go round a mesh: every
		// two nodes have one, and nothing has to be passed on.
		if err := l.Wire(func(end *testbed.Interface) { end.Bridge, end.Isolated = datapath.BridgeName(end.Place), l.Mesh() }); err != nil {
			return datapath.Laid{}, err
		}
	}
	for i, place := range containers {
		l.OnSegment(place, i, r.Wire.MTU).Bridge = datapath.BridgeName(place.Node)
	}
	return l.Finish(r.Wire.MTU)
}
