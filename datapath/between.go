package datapath

import (
	"windtunnel/result"
	"windtunnel/testbed"
)

// Between lays the two containers of a path that joins two interfaces of each node and switches
// nothing, with the wire between their nodes if they are on two. Shape is Wire's.
func (l *Layout) Between(interfaces string, shape func(*testbed.Interface)) ([]result.Place, error) {
	containers, err := l.Two(interfaces, shape)
	for i, place := range containers {
		l.OnSegment(place, i, l.Request.Wire.MTU)
	}
	return containers, err
}

// Two lays the wire alone of such a path, whose endpoints may have no interfaces.
func (l *Layout) Two(interfaces string, shape func(*testbed.Interface)) ([]result.Place, error) {
	containers, err := l.Containers()
	if err != nil {
		return nil, err
	}
	if len(containers) != 2 {
		return nil, l.Errorf("it joins two %s and switches nothing, and the pairs have %d containers: take two", interfaces, len(containers))
	}
	if l.Joined() {
		if err := l.Wire(shape); err != nil {
			return nil, err
		}
	}
	return containers, nil
}

// Sides are a node's two interfaces of such a path: behind the one is the first container, behind the
// other the second.
func (l *Layout) Sides(node string, containers []result.Place) (devices, peers []string) {
	for i, place := range containers {
		device := HostDevice(place.Container)
		if place.Node != node {
			device = l.NIC(node)
		}
		devices, peers = append(devices, device), append(peers, SegmentMAC(i))
	}
	return devices, peers
}
