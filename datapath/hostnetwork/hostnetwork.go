// Package hostnetwork is the path between containers that share their node's own stack, as `docker run
// --network host` has them.
package hostnetwork

import (
	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays containers in their nodes' stacks.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// InPlace says that they do with their own stacks, beside the engine that runs there.
func (Path) InPlace() {}

// Name is the suite's word.
func (Path) Name() string { return "host-network" }

// Says describes it.
func (Path) Says() string {
	return "Docker containers in their node's own stack (--network host): what a container costs without a network of its own"
}

// Options are every engine's.
func (Path) Options() []result.Option { return datapath.EngineOptions() }

// Programs are the engine's.
func (Path) Programs() []datapath.Program { return datapath.EnginePrograms() }

// Lay joins the nodes by the wire and puts the containers into their stacks.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.BeginInPlace(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := l.Joins(); err != nil {
		return datapath.Laid{}, err
	}
	err = l.Engines(datapath.EngineSettings{Proxy: true, MTU: l.Request.Wire.MTU}, func(_ *testbed.Engine, c *testbed.EngineContainer, _ int) {
		c.Network = testbed.NetworkHost
	})
	if err != nil {
		return datapath.Laid{}, err
	}
	for _, pair := range r.Pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			l.Reach(place.Name(), l.Node(place.Node))
		}
	}
	return l.Finish(l.Request.Wire.MTU)
}
