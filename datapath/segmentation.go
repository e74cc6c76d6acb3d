package datapath

import (
	"maps"

	"windtunnel/result"
	"windtunnel/testbed"
)

// segmentation gives the devices the offloads that the cell asks for.
func (l *Layout) segmentation() error {
	switch l.Request.Segmentation {
	case SegmentationOff:
		if l.inPlace {
			l.NotHere("the cell has `segmentation: off`, and the hosts' interfaces stay as they are here, since %s", l.whyInPlace())
			return nil
		}
		l.segmentationOff()
	case SegmentationNoLSO:
		return l.noLSO()
	}
	return nil
}

// noLSO takes large-send offload from the endpoints' interfaces: their packets have the size of the MTU
// from there on, so that every switch handles each of them.
func (l *Layout) noLSO() error {
	found := false
	for i := range l.Graph.Links {
		if l.Graph.Links[i].Role != result.RoleEndpoint {
			continue
		}
		found = true
		sendsCut(&l.Graph.Links[i].Ends[0]) // the container's, see Container
	}
	for _, inside := range l.atSockets() {
		found = true
		sendsCut(inside)
	}
	if !found {
		return l.Errorf("`segmentation: no-lso` is about the interfaces of containers, and it has none that the testbed makes: take the path bridge, vxlan or vrouter; a wire of kind nic cuts packets to the MTU in any case")
	}
	return nil
}

// sendsCut takes large-send offload from an interface.
func sendsCut(end *testbed.Interface) {
	end.Offloads = maps.Clone(end.Offloads)
	if end.Offloads == nil {
		end.Offloads = map[string]bool{}
	}
	end.Offloads[testbed.TSO], end.Offloads[testbed.GSO] = false, false
}

// atSockets are the interfaces of virtual machines that are no ends of links.
func (l *Layout) atSockets() (all []*testbed.Interface) {
	for _, v := range l.Graph.VMs {
		for _, n := range v.NICs {
			if n.Inside != nil {
				all = append(all, n.Inside)
			}
		}
	}
	return all
}

// segmentationOff takes TSO, GSO and GRO from every device, so that every hop
// handles every packet.
func (l *Layout) segmentationOff() {
	for i := range l.Graph.Links {
		for end := range l.Graph.Links[i].Ends {
			unaggregated(&l.Graph.Links[i].Ends[end])
		}
	}
	for _, inside := range l.atSockets() {
		unaggregated(inside)
	}
	for i := range l.Graph.Bridges {
		l.Graph.Bridges[i].Offloads = noAggregates()
	}
	for i := range l.Graph.Bonds {
		l.Graph.Bonds[i].Offloads = noAggregates()
	}
	for i := range l.Graph.VXLANs {
		l.Graph.VXLANs[i].Offloads = noAggregates()
	}
}

// unaggregated takes from an interface what makes packets longer than the MTU.
func unaggregated(end *testbed.Interface) {
	offloads := noAggregates()
	if checksum, named := end.Offloads[testbed.TxChecksum]; named {
		offloads[testbed.TxChecksum] = checksum
	}
	end.Offloads = offloads
	unthread(end)
}

func noAggregates() map[string]bool {
	return map[string]bool{testbed.TSO: false, testbed.GSO: false, testbed.UDPSeg: false, testbed.GRO: false}
}
