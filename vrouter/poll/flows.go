package poll

import (
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// The methods in this file may be called while others are.

// openFlows finds the table of flows in the shared memory.
func (p *Plane) openFlows() (err error) {
	m := p.image.shared
	p.flows, err = config.OpenFlows(m[0], m[1], m[2], p.options.Flows)
	return err
}

// EachFlow visits the flows, while packets make new ones: those that are there all the time are
// visited once.
func (p *Plane) EachFlow(visit func(core.FlowKey, core.Flow) error) error {
	return p.flows.Each(visit)
}

// RemoveFlows removes the flows that are no longer wanted, and says how many there were.
func (p *Plane) RemoveFlows(unwanted func(core.FlowKey, core.Flow) bool) (removed int, err error) {
	return p.flows.Remove(unwanted, p.Quiesce)
}

// FlowsOf is how many flows a VRF has.
func (p *Plane) FlowsOf(vrf uint32) uint64 { return p.flows.Of(vrf) }

// FlowTable is how many flows there is room for.
func (p *Plane) FlowTable() uint32 { return p.flows.Limit() }
