package datapath

import (
	"windtunnel/result"
	"windtunnel/testbed"
)

// The words of Wire.VMQ and Wire.Spread.
const (
	on            = "on"
	auto          = "auto"
	spreadReceive = "receive"
	spreadSend    = "send"
	spreadBoth    = "both"
)

// queueAsAsked gives the wire the receive queues, and the nodes' CPUs the work, that the suite asks for.
//
// A virtual pair receives from a queue what the other end sent to the queue of the same number
// (veth_xmit in drivers/net/veth.c): whoever chooses a transmit queue has chosen the receive queue, so XPS on
// the wire would be a receive spread. What sending is spread by is therefore what a switch's CPUs are chosen by
// for the packets that a container sends, as vRSS has it: RPS at the node's end of the container's pair.
//
//	vmq off, no receive spread    one queue, one CPU
//	vmq off, receive spread       RSS: queues by flow, a CPU each
//	vmq on, no receive spread     queues by the destination's MAC, a CPU each
//	vmq on, receive spread        the same, and RPS by flow at the container's interface, as vRSS
func (l *Layout) queueAsAsked() error {
	w := l.Request.Wire
	q := result.Queueing{
		VMQ: w.VMQ == on, Receive: w.Spread == spreadReceive || w.Spread == spreadBoth,
		Send: w.Spread == spreadSend || w.Spread == spreadBoth,
	}
	if (w.VMQ == "" || w.VMQ == auto) && (w.Spread == "" || w.Spread == auto) {
		l.numbered()
		return nil
	}
	if err := l.checkQueueing(q); err != nil {
		return err
	}
	for i := range l.Graph.Links {
		link := &l.Graph.Links[i]
		switch link.Role {
		case result.RoleWire:
			if !asItIs(*link) {
				l.queueWire(&link.Ends, q)
			} else if !l.inPlace {
				l.queueFound(&link.Ends, &q)
			}
		case result.RoleEndpoint:
			l.spreadEndpoint(&link.Ends, q)
		}
	}
	l.queueing = &q
	return nil
}

// checkQueueing refuses what the wire or the path cannot have.
func (l *Layout) checkQueueing(q result.Queueing) error {
	wires, adapters := 0, 0
	for _, link := range l.Graph.Links {
		switch link.Role {
		case result.RoleWire:
			wires++
			if asItIs(link) {
				continue
			}
			if !link.Ends[0].Threaded() || !link.Ends[1].Threaded() {
				return l.Errorf("`vmq` and `spread` are about the receive queues of a NIC, and its wire has none: take a wire of kind %s, without `segmentation: off`, and a path that does not read packets by packet sockets", WireNIC)
			}
		case result.RoleEndpoint:
			adapters++
		}
	}
	switch {
	case wires == 0:
		return l.Errorf("`vmq` and `spread` are about the wire's queues, and its ends are on one node: write `wire: {vmq: auto, spread: auto}` for it")
	case adapters == 0 && (q.VMQ || q.Send):
		return l.Errorf("`vmq: on` and `spread: send` are about the adapters of containers at a switch, and it has none that the testbed makes: take the path bridge, vxlan or vrouter")
	case l.Request.Wire.Queues == 1 && (q.VMQ || q.Receive):
		return l.Errorf("one queue has nothing to choose: leave `queues` out, or take at least 2")
	}
	return nil
}

// numbered has real hosts' interfaces have as many queues as the wire, where nothing else is asked of them. Of a wire that is
// made, the ends have been made so.
func (l *Layout) numbered() {
	for i := range l.Graph.Links {
		if link := &l.Graph.Links[i]; asItIs(*link) && !l.inPlace && l.Request.Wire.Queues > 0 {
			l.numberFound(&link.Ends)
		}
	}
}

// asItIs tells whether a wire's ends are real hosts' interfaces. In a host's own stack their queues are those that they have: whoever
// lays a cell there that asks for some has looked whether they are as asked.
func asItIs(link testbed.Link) bool { return link.Kind == testbed.WireNetwork }

// queueWire sets the ends' queues. Of VMQ's, the first is for what has no queue of its own.
func (l *Layout) queueWire(ends *[2]testbed.Interface, q result.Queueing) {
	behind := [2][]string{l.adapters(ends[1].Place), l.adapters(ends[0].Place)}
	queues := 1
	switch {
	case l.Request.Wire.Queues > 0:
		queues = l.Request.Wire.Queues
	case q.VMQ:
		queues = 1 + max(1, len(behind[0]), len(behind[1]))
	case q.Receive:
		queues = max(2, l.queues())
	}
	for i := range ends {
		ends[i].Queues, ends[i].CPUAQueue = queues, true
		switch {
		case q.VMQ:
			ends[i].QueueBy, ends[i].Destinations = testbed.QueueByDestination, behind[i]
		case q.Receive:
			ends[i].QueueBy = testbed.QueueByFlow
		}
	}
}

// adapters are the MACs of a node's containers.
func (l *Layout) adapters(node string) []string {
	var macs []string
	for _, link := range l.Graph.Links {
		if link.Role == result.RoleEndpoint && l.Graph.NodeOf(link.Ends[0].Place) == node {
			macs = append(macs, link.Ends[0].MAC)
		}
	}
	return macs
}

// spreadEndpoint lets one CPU or all do the node's work for a container's pair.
func (l *Layout) spreadEndpoint(ends *[2]testbed.Interface, q result.Queueing) {
	inside, outside := &ends[0], &ends[1]
	if q.VMQ && q.Receive {
		inside.Steering = testbed.SteerRPS
	}
	node, _ := l.Graph.Node(l.Graph.NodeOf(inside.Place))
	if !q.Send && len(node.CPUs) > 0 {
		outside.CPUs = node.CPUs[:1]
	}
}
