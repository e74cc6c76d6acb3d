package control

import (
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/kernel"
	"windtunnel/vrouter/poll"
)

// A plane moves packets by the tables that it is given, and counts them. What only the kernel mode
// has (receiving before GRO, the fast path) is asked of it by name.
type plane interface {
	Image() config.Image
	Write([]config.Write) error
	Switch([]config.Write) error
	Hosts() config.Hosts
	Quiesce() error
	Attach(fabric config.Attachment, vifs []config.Attachment) error
	Totals() (core.Totals, error)
	VifCount(vif uint32) (core.VifCount, error)
	VifDrops(vif uint32) (core.VifDrops, error)
	ClearVifCount(vif uint32) error
	// Those of the flows may be called while others are.
	EachFlow(visit func(core.FlowKey, core.Flow) error) error
	RemoveFlows(unwanted func(core.FlowKey, core.Flow) bool) (removed int, err error)
	FlowsOf(vrf uint32) uint64
	FlowTable() uint32
	Features() []string
	Close() error
}

var (
	_ plane = (*kernel.Dataplane)(nil)
	_ plane = (*poll.Plane)(nil)
)
