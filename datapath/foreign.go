package datapath

import (
	"fmt"

	"windtunnel/result"
	"windtunnel/testbed"
)

// Program is one that a path runs and that others make: what it is called and how to
// get it.
type Program struct {
	Name    string
	Install string
	Node    string // which runs it; empty: each of the cell's
}

// Programs lists the programs that a path needs beside ours: those that it names
// by a method Programs.
func Programs(p Path) []Program {
	if foreign, ok := p.(interface{ Programs() []Program }); ok {
		return foreign.Programs()
	}
	return nil
}

// ReadByPacketSocket shapes an end of the wire whose packets a program reads by a
// packet socket, in buffers of one packet: what GRO put together would be cut or
// dropped, so nothing is.
func ReadByPacketSocket(end *testbed.Interface) {
	end.Offloads[testbed.GRO] = false
	unthread(end)
}

// packetBuffer is the largest MTU at which one buffer of DPDK's driver for packet
// sockets, which does not chain them, holds a packet: 2048 bytes, with the ring's and
// Ethernet's headers.
const packetBuffer = 1900

// FitsPacketBuffer refuses a wire whose packets are longer.
func (l *Layout) FitsPacketBuffer() error {
	if l.Request.Wire.MTU > packetBuffer {
		return l.Errorf("a wire of MTU %d is more than the %d that a buffer of DPDK's driver for packet sockets holds: take a smaller one",
			l.Request.Wire.MTU, packetBuffer)
	}
	return nil
}

// FinishPackets has a container cut its packets to the MTU and sum them up itself, and nobody join
// them again, for a switch that passes on neither the kernel's whole packets of TCP nor its
// unfinished checksums.
func (l *Layout) FinishPackets(place result.Place) {
	for i := range l.Graph.Links {
		inside, outside := &l.Graph.Links[i].Ends[0], &l.Graph.Links[i].Ends[1]
		if inside.Place != place.Container {
			continue
		}
		inside.Offloads = map[string]bool{testbed.TSO: false, testbed.UDPSeg: false, testbed.TxChecksum: false}
		if outside.Offloads[testbed.GRO] { // raw frames by XDP need it
			outside.Offloads[testbed.GROJoins] = false
		}
	}
}

// Polls notes that a program looks for packets on a node's CPU without a pause: how
// busy the CPU is then says nothing, and what else it has to do comes second.
func (l *Layout) Polls(node testbed.Node, cpu int, program string) {
	says := fmt.Sprintf("%s polls on CPU %d of node %s without a pause: how busy that CPU is says nothing", program, cpu, node.Name)
	if len(node.CPUs) == 1 {
		says += ", and the node has no other one, so that endpoints and receive work have to share it"
	}
	l.Doubt("polling", says)
}
