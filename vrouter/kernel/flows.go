package kernel

import (
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// The methods in this file may be called while others are.

// openFlows finds the table of flows in its maps' memory.
func (d *Dataplane) openFlows() error {
	var memory [3][]byte
	var err error
	if memory[0], err = d.mapped(d.objects.VrFlowHeads, core.SizeFlowHead); err != nil {
		return err
	}
	if memory[1], err = d.mapped(d.objects.VrFlows, core.SizeFlowPage); err != nil {
		return err
	}
	if memory[2], err = d.mapped(d.objects.VrFlowCounts, 8); err != nil {
		return err
	}
	d.flows, err = config.OpenFlows(memory[0], memory[1], memory[2], d.flowLimit())
	return err
}

func (d *Dataplane) flowLimit() uint32 {
	if d.options.Flows == 0 {
		return config.DefaultFlows
	}
	return d.options.Flows
}

// EachFlow visits the flows, while packets make new ones: those that are there all the time are
// visited once.
func (d *Dataplane) EachFlow(visit func(core.FlowKey, core.Flow) error) error {
	return d.flows.Each(visit)
}

// RemoveFlows removes the flows that are no longer wanted, and says how many there were.
func (d *Dataplane) RemoveFlows(unwanted func(core.FlowKey, core.Flow) bool) (removed int, err error) {
	return d.flows.Remove(unwanted, d.Quiesce)
}

// FlowsOf is how many flows a VRF has.
func (d *Dataplane) FlowsOf(vrf uint32) uint64 { return d.flows.Of(vrf) }

// FlowTable is how many flows there is room for.
func (d *Dataplane) FlowTable() uint32 { return d.flows.Limit() }
