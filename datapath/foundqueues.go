package datapath

import (
	"cmp"
	"fmt"
	"net/netip"

	"windtunnel/result"
	"windtunnel/testbed"
)

// queueFound has the interfaces of real hosts use their queues as asked, by what their drivers have for it.
//
//	no receive spread    one queue, or the first one alone by the table of the driver that spreads flows over queues (RSS)
//	receive spread       equal shares for several queues in that table; where the driver has none, the CPUs that serve
//	                     the queues hand packets over by their flows (RPS)
//	VMQ                  several queues, by rules of the driver for each container's address; with receive spread RPS
//	                     at the container's interface, as vRSS
//	no send spread       all CPUs send by the first queue (XPS)
//	send spread          each CPU sends by a queue of its own (XPS), as far as the interface has as many; of combined
//	                     ones, it then receives by the first alone
//
// Of a virtual pair what is sent by a queue is received by the one of that number, so that XPS at one end chooses among
// the other's receive queues; each has a thread on a CPU of its own, as with a wire that is made.
func (l *Layout) queueFound(ends *[2]testbed.Interface, q *result.Queueing) {
	for i := range ends {
		end := &ends[i]
		node, _ := l.Graph.Node(end.Place)
		nic, _ := node.NICOf(end.Device)
		choose := l.foundQueues
		if q.VMQ && len(l.behind(node.Name)) > 0 { // behind the other end are some
			choose = l.ruledQueues
		}
		found, why := choose(node, nic, *q)
		if why != "" {
			l.NotHere("node %s: %s", node.Name, why)
			return
		}
		l.setFound(end, nic, found)
		q.Hosts = append(q.Hosts, hostQueueing(node, nic, found))
	}
}

// setFound notes how an interface uses its queues. A virtual one has a receive thread for each.
func (l *Layout) setFound(end *testbed.Interface, nic testbed.NIC, found testbed.Found) {
	end.Found = found
	if found.Receive == testbed.ReceiveByRules {
		end.Behind = l.behind(end.Place)
	}
	if nic.Virtual && end.Threaded() {
		end.Queues, end.CPUAQueue = cmp.Or(found.Queues, max(nic.Queues, 1)), true
	}
}

// foundQueues chooses the numbers of queues and what spreads packets over them, or says why the interface cannot.
func (l *Layout) foundQueues(node testbed.Node, nic testbed.NIC, q result.Queueing) (testbed.Found, string) {
	asked := l.Request.Wire.Queues
	queues, send := max(asked, 1), testbed.SendByFirst
	sends := queues
	if q.Send {
		send, sends = testbed.SendByCPU, max(queues, min(len(node.CPUs), nic.Channels.MostToSend()))
	}
	ways := received(nic, asked, queues, sends)
	if q.Receive {
		ways = spread(nic, asked, sends, len(node.CPUs))
	}
	for _, way := range ways {
		way.Send = send
		if way.SendQueues == 0 {
			return way, "" // nothing to be numbered
		}
		if _, able := nic.Channels.With(way.Queues, way.SendQueues); able {
			return way, ""
		}
	}
	return testbed.Found{}, cannotHave(nic, queues)
}

// ruledQueues has an adapter's packets received by a queue of its own, and everything else by the first.
func (l *Layout) ruledQueues(node testbed.Node, nic testbed.NIC, q result.Queueing) (testbed.Found, string) {
	adapters := len(l.behind(node.Name))
	refuse := func(lacks string) (testbed.Found, string) {
		return testbed.Found{}, fmt.Sprintf("`vmq: on` needs receive queues by destination, and %s", lacks)
	}
	switch {
	case !nic.Steers:
		return refuse(fmt.Sprintf("the driver of %s takes no rules for those (rx-ntuple-filter, `ethtool -N`)", nic.Device))
	case nic.Table == 0:
		return refuse(fmt.Sprintf("the driver of %s has no table by which all else would have one queue (`ethtool -X`)", nic.Device))
	case nic.Rules > 0:
		return refuse(fmt.Sprintf("%s has %d rules of its owner's for them (`ethtool -n %s`), which stay: remove them first", nic.Device, nic.Rules, nic.Device))
	}
	found := testbed.Found{Receive: testbed.ReceiveByRules, Send: testbed.SendByFirst}
	if q.Send {
		found.Send = testbed.SendByCPU
	}
	found.Queues = cmp.Or(l.Request.Wire.Queues, 1+adapters)
	found.SendQueues = found.Queues
	if _, able := nic.Channels.With(found.Queues, found.SendQueues); !able {
		return testbed.Found{}, cannotHave(nic, found.Queues)
	}
	return found, ""
}

// behind are the containers of a node, as its NIC knows them.
func (l *Layout) behind(node string) []testbed.Adapter {
	var all []testbed.Adapter
	for _, link := range l.Graph.Links {
		inside := link.Ends[0]
		if link.Role != result.RoleEndpoint || l.Graph.NodeOf(inside.Place) != node {
			continue
		}
		for _, text := range inside.Addresses {
			if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
				all = append(all, testbed.Adapter{MAC: inside.MAC, Address: prefix.Addr().String()})
				break
			}
		}
	}
	return all
}

// received are the ways in which an interface receives by so many queues, the best first.
func received(nic testbed.NIC, asked, queues, sends int) []testbed.Found {
	ways := []testbed.Found{{Queues: queues, SendQueues: sends, Receive: testbed.ReceiveByQueue}}
	single := nic.Table > 0 && queues == 1
	if single && sends > 1 { // combined ones alone
		ways = append(ways, testbed.Found{Queues: sends, SendQueues: sends, Receive: testbed.ReceiveByFirst})
	}
	ways = append(ways, testbed.Found{Queues: queues, SendQueues: queues, Receive: testbed.ReceiveByQueue})
	switch {
	case nic.Channels == (testbed.Channels{}) && nic.Queues == queues:
		ways = append(ways, testbed.Found{Receive: testbed.ReceiveByQueue})
	case single && asked == 0:
		ways = append(ways, testbed.Found{Receive: testbed.ReceiveByFirst})
	}
	return ways
}

// spread are the ways in which it spreads what it receives over CPUs, the best first.
func spread(nic testbed.NIC, asked, sends, cpus int) []testbed.Found {
	var ways []testbed.Found
	numbered := func(receive string, queues int) {
		ways = append(ways, testbed.Found{Queues: queues, SendQueues: max(sends, queues), Receive: receive},
			testbed.Found{Queues: queues, SendQueues: queues, Receive: receive})
	}
	if queues := cmp.Or(asked, min(max(2, cpus), nic.Channels.MostToReceive())); nic.Table > 0 && queues > 1 {
		numbered(testbed.ReceiveByTable, queues)
	}
	if has := nic.Queues; nic.Table > 0 && has > 1 && nic.Channels == (testbed.Channels{}) && (asked == 0 || asked == has) {
		ways = append(ways, testbed.Found{Queues: has, Receive: testbed.ReceiveByTable})
	}
	numbered(testbed.ReceiveByRPS, max(asked, 1))
	if asked == 0 || nic.Channels == (testbed.Channels{}) && nic.Queues == asked {
		ways = append(ways, testbed.Found{Receive: testbed.ReceiveByRPS}) // which spreads what comes by any
	}
	return ways
}

// numberFound gives them a number of queues, where nothing else is asked for.
func (l *Layout) numberFound(ends *[2]testbed.Interface) {
	queues := l.Request.Wire.Queues
	for i := range ends {
		node, _ := l.Graph.Node(ends[i].Place)
		nic, _ := node.NICOf(ends[i].Device)
		if _, able := nic.Channels.With(queues, queues); able {
			l.setFound(&ends[i], nic, testbed.Found{Queues: queues, SendQueues: queues})
			ends[i].CPUAQueue = false // threads run on any of the node's CPUs, as the queues' interrupts do
		} else if nic.Queues != queues {
			l.NotHere("node %s: %s", node.Name, cannotHave(nic, queues))
		}
	}
}

// cannotHave says why an interface has not so many receive queues.
func cannotHave(nic testbed.NIC, want int) string {
	has := fmt.Sprintf("has %d", nic.Queues)
	if nic.Queues <= 0 {
		has = "does not say how many it has"
	}
	text := fmt.Sprintf("its wire is to have %d receive queues, the interface %s %s", want, nic.Device, has)
	if c := nic.Channels; c != (testbed.Channels{}) {
		return fmt.Sprintf("%s, and its driver takes at most %d that receive and send alike, or %d and %d of each kind (`ethtool -l %s`)", text, c.MostCombined, c.MostReceive, c.MostSend, nic.Device)
	}
	return text + ", and its driver lets nobody set that (it has no `ethtool -L`)"
}

// hostQueueing is what the record says of it.
func hostQueueing(node testbed.Node, nic testbed.NIC, found testbed.Found) result.HostQueueing {
	h := result.HostQueueing{Node: node.Name, Device: nic.Device, Queues: found.Queues, SendQueues: found.SendQueues}
	switch found.Receive {
	case testbed.ReceiveByRPS:
		h.Receive = result.ReceiveByRPS
	case testbed.ReceiveByTable:
		h.Receive = result.ReceiveByTable
	case testbed.ReceiveByRules:
		h.Receive = result.ReceiveByRules
	case testbed.ReceiveByFirst:
		h.Queues = 1
	}
	if found.Send == testbed.SendByCPU && cmp.Or(found.SendQueues, node.NIC.SendQueues) > 1 {
		h.Send = result.SendByXPS
	}
	return h
}
