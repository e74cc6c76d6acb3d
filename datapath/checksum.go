package datapath

import (
	"maps"

	"windtunnel/result"
	"windtunnel/testbed"
)

// ChecksumSoftware has endpoints' stacks finish their packets' checksums themselves. The kernel does not cut
// packets of TCP for a device that it may not leave checksums to (netdev_fix_features in net/core/dev.c takes
// TSO from it), so those leave it at the size of the MTU.
const ChecksumSoftware = "software"

// checksum takes checksum offload from the endpoints' interfaces where the cell asks for that: a container's
// or machine's own, and of a process its node's ends of wires.
func (l *Layout) checksum() error {
	if l.Request.Checksum != ChecksumSoftware {
		return nil
	}
	changed := false
	for i := range l.Graph.Links {
		link := &l.Graph.Links[i]
		if link.Kind == testbed.LinkTap && link.Role == result.RoleEndpoint {
			return l.Errorf("`checksum: software` is not to be had at a tap, whose program says what is left to it: take `attach: veth`")
		}
		for side := range link.Ends {
			end := &link.Ends[side]
			own := link.Role == result.RoleEndpoint && side == 0 || link.Role == result.RoleWire && l.process(end.Place)
			changed = own && summed(end) || changed
		}
	}
	for _, inside := range l.atSockets() {
		changed = summed(inside) || changed
	}
	if !changed {
		return l.Errorf("`checksum: software` is about interfaces of endpoints that leave checksums to a device, and it has none that the testbed makes: leave it out")
	}
	return nil
}

// process tells whether an endpoint is in a node's own stack.
func (l *Layout) process(node string) bool {
	for _, place := range l.places() {
		if place.Container == "" && place.Node == node {
			return true
		}
	}
	return false
}

// summed takes checksum offload from an interface; false means that it has none.
func summed(end *testbed.Interface) bool {
	if on, named := end.Offloads[testbed.TxChecksum]; named && !on {
		return false
	}
	end.Offloads = maps.Clone(end.Offloads)
	if end.Offloads == nil {
		end.Offloads = map[string]bool{}
	}
	end.Offloads[testbed.TxChecksum], end.Offloads[testbed.TSO] = false, false
	return true
}
