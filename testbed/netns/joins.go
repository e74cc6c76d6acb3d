package netns

import (
	"github.com/vishvananda/netlink"

	"windtunnel/testbed"
)

// The longest packet that GRO makes, which the kernel lets be any number (skb_gro_receive in
// net/core/gro.c): no packet is short enough to be joined to one of a byte, and 64 KiB is the kernel's
// own choice.
const (
	joinsNone = 1
	joinsAll  = 65536
)

// setJoins has GRO join packets, or only hand them on.
func setJoins(h *handle, device netlink.Link, p testbed.Interface) error {
	joins, named := p.Offloads[testbed.GROJoins]
	switch {
	case !named:
		return nil
	case joins:
		return h.LinkSetGROMaxSize(device, joinsAll)
	}
	return h.LinkSetGROMaxSize(device, joinsNone)
}
