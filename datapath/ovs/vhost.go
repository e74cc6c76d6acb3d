package ovs

import (
	"fmt"
	"slices"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// vhostPort is a port's name, and so that of its socket in the switch's folder.
func vhostPort(i int) string { return fmt.Sprintf("port-%d", i) }

// addVhost adds a vhost-user socket at which the switch listens.
func (s *aSwitch) addVhost(i, mtu int) {
	s.addPort(inside, vhostPort(i), "type=dpdkvhostuser", fmt.Sprintf("mtu_request=%d", mtu))
}

// ports adds a node's endpoints at such sockets, behind the switch. What only counts never sends, so that the
// switch would not learn where it is and copy everything to every port: it is told.
func (s *aSwitch) ports(l *datapath.Layout, node testbed.Node, containers []result.Place, way wrap, mtu int) error {
	if !s.vhost {
		return nil
	}
	var ports []datapath.PollPort
	var up []testbed.Command
	for i, place := range containers {
		port := vhostPort(i)
		switch {
		case place.Node == node.Name:
			partner, err := partner(l, containers, place)
			if err != nil {
				return err
			}
			ports = append(ports, datapath.SegmentPort(place, i, partner, mtu, "{dir:"+s.daemon()+"}/"+port))
			// Until then it takes packets from the ports that are there and drops those for others.
			up = append(up, s.vsctl("wait-until", "interface", port, "link_state=up"))
		case way.name == vxlan:
			port = tunnel
		default:
			port = l.NIC(node.Name)
		}
		daemon := &l.Graph.Daemons[len(l.Graph.Daemons)-1]
		daemon.After = append(daemon.After, testbed.Command{Program: "ovs-appctl", Args: []string{
			"--target={dir}/ctl", "fdb/add", inside, port, "0", datapath.SegmentMAC(i)}})
	}
	if tester := l.AtPorts(node, ports); tester != nil {
		tester.After = up
	}
	return nil
}

// partner is the number of the one container that a container's frames are for: a port sends to one
// MAC.
func partner(l *datapath.Layout, containers []result.Place, place result.Place) (int, error) {
	other := result.Place{}
	for _, pair := range l.Request.Pairs {
		for _, ends := range [][2]result.Place{{pair.From, pair.To}, {pair.To, pair.From}} {
			switch {
			case ends[0] != place:
			case other == result.Place{}:
				other = ends[1]
			case other != ends[1]:
				return 0, l.Errorf("frames of %s would be for %s and for %s, and a vhost-user port sends to one: give each pair containers of its own",
					place.Container, other.Container, ends[1].Container)
			}
		}
	}
	return slices.Index(containers, other), nil
}
