package datapath

import (
	"maps"
	"slices"

	"windtunnel/result"
	"windtunnel/testbed"
)

// off and sender are words of Wire.GRO and Wire.Steer.
const (
	off    = "off"
	sender = "sender"
)

// wireAsAsked gives the wire's ends what the suite asks of them beside their queues.
func (l *Layout) wireAsAsked() error {
	w := l.Request.Wire
	asked := result.WireSettings{BitsPerSecond: w.BitsPerSecond, Loss: w.Loss}
	if w.GRO != "" && w.GRO != auto {
		asked.GRO = w.GRO
	}
	if w.Steer == sender {
		asked.Steer = w.Steer
	}
	if asked == (result.WireSettings{}) {
		return nil
	}
	if err := l.checkWired(asked); err != nil {
		return err
	}
	for i := range l.Graph.Links {
		if l.Graph.Links[i].Role == result.RoleWire {
			l.setWired(&l.Graph.Links[i].Ends, asked)
		}
	}
	if asked.GRO == off {
		for i := range l.Graph.VXLANs { // which join packets anew behind the tunnel's header (gro_cells)
			l.Graph.VXLANs[i].Offloads = maps.Clone(l.Graph.VXLANs[i].Offloads)
			if l.Graph.VXLANs[i].Offloads == nil {
				l.Graph.VXLANs[i].Offloads = map[string]bool{}
			}
			l.Graph.VXLANs[i].Offloads[testbed.GRO] = false
		}
	}
	l.wired = &asked
	return nil
}

// checkWired refuses what the wire cannot have.
func (l *Layout) checkWired(asked result.WireSettings) error {
	wires := 0
	for _, link := range l.Graph.Links {
		if link.Role != result.RoleWire {
			continue
		}
		wires++
		for _, end := range link.Ends {
			switch {
			case asked.GRO != "" && !end.Threaded():
				return l.Errorf("`gro` is about packets that a NIC's receiver joins, and its wire has none: take a wire of kind %s, without `segmentation: off`, and a path that does not read packets by packet sockets", WireNIC)
			case asked.Steer != "" && end.Steering == testbed.SteerNone, asked.Loss > 0 && end.Steering == testbed.SteerNone:
				return l.Errorf("`steer` and `loss` are about what the kernel's network stack receives at the wire, and this path reads the wire itself: take the path wire, bridge, vxlan or vrouter")
			}
		}
	}
	switch {
	case wires == 0:
		return l.Errorf("`gro`, `steer`, `rate` and `loss` are about the wire, and its ends are on one node: leave them out")
	case asked.Steer != "" && l.Mesh():
		return l.Errorf("`steer: sender` is about two nodes, and it has %d: leave it out", len(l.Graph.Nodes))
	}
	return nil
}

func (l *Layout) setWired(ends *[2]testbed.Interface, asked result.WireSettings) {
	for i := range ends {
		end := &ends[i]
		end.BitsPerSecond, end.Loss = asked.BitsPerSecond, asked.Loss
		if asked.GRO != "" {
			// Without GRO a virtual pair has no NAPI, whose work a thread could do: so it stays, and joins none.
			end.Offloads = maps.Clone(end.Offloads)
			end.Offloads[testbed.GROJoins] = asked.GRO != off
		}
		if peer, ok := l.Graph.Node(l.Graph.NodeOf(ends[1-i].Place)); ok && asked.Steer == sender {
			end.CPUs, end.CPUAQueue = slices.Clone(peer.CPUs), false
		}
	}
}
