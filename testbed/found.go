package testbed

import (
	"net"
	"net/netip"
	"slices"
)

// Found is how a real host's interface is to use its queues while it is taken. The zero value leaves them as they were found.
type Found struct {
	Queues     int `json:"queues,omitempty"`      // by which it receives; 0: as found
	SendQueues int `json:"send_queues,omitempty"` // 0: as found, and so are the receive queues, of which Queues are in the table
	// Receive is what spreads received packets over CPUs by their flows, and Send who sends by which queue.
	Receive string `json:"receive,omitempty"`
	Send    string `json:"send,omitempty"`
}

// Adapter is a container's interface, as a NIC in front of its switch knows it.
type Adapter struct {
	MAC     string `json:"mac"`
	Address string `json:"address"` // of IPv4
}

// What spreads the packets that a real host's interface receives.
const (
	ReceiveAsFound = ""
	ReceiveByQueue = "queue" // nothing else than the queue by which they came
	ReceiveByFirst = "first" // the first one alone, by the driver's table, however many there are
	ReceiveByTable = "table" // equal shares for each of Queues in the driver's table (RSS)
	ReceiveByRules = "rules" // of Queues one for each adapter behind it, by rules of the driver, and the first one for all else
	ReceiveByRPS   = "rps"   // the CPUs that serve its queues hand them over (Documentation/networking/scaling.rst)
)

// Who sends by which of its queues (XPS, in the same document).
const (
	SendAsFound = ""
	SendByFirst = "first" // all CPUs by the first one
	SendByCPU   = "cpu"   // each of the node's CPUs by one of its own, in turn
)

func (c *checker) foundQueues(owner string, l Link, i Interface) {
	if i.Found == (Found{}) && len(i.Behind) == 0 {
		return
	}
	if node, _ := c.graph.Node(i.Place); l.Kind != WireNetwork || node.InPlace {
		c.fault("%s: the queues of what is not a real host's interface that was taken are not set: %+v", owner, i.Found)
	}
	if f := i.Found; f.Queues < 0 || f.Queues > maxQueues || f.SendQueues < 0 || f.SendQueues > maxQueues {
		c.fault("%s: %d receive and %d send queues are not possible", owner, f.Queues, f.SendQueues)
	}
	if by := i.Found.Receive; (by == ReceiveByTable || by == ReceiveByRules) && i.Found.Queues < 2 {
		c.fault("%s: by %s, %d queues have nothing to choose: take at least 2", owner, by, i.Found.Queues)
	}
	if (i.Found.Receive == ReceiveByRules) != (len(i.Behind) > 0) || len(i.Behind) > maxDestinations {
		c.fault("%s: it receives by %q and has %d adapters behind it: at most %d, by %s", owner, i.Found.Receive, len(i.Behind), maxDestinations, ReceiveByRules)
	}
	for _, a := range i.Behind {
		mac, err := net.ParseMAC(a.MAC)
		if address, wrong := netip.ParseAddr(a.Address); err != nil || len(mac) != 6 || wrong != nil || !address.Is4() {
			c.fault("%s: the adapter %+v has no address of Ethernet and of IPv4", owner, a)
		}
	}
	if !slices.Contains([]string{ReceiveAsFound, ReceiveByQueue, ReceiveByFirst, ReceiveByTable, ReceiveByRules, ReceiveByRPS}, i.Found.Receive) ||
		!slices.Contains([]string{SendAsFound, SendByFirst, SendByCPU}, i.Found.Send) {
		c.fault("%s: receiving by %q or sending by %q is unknown", owner, i.Found.Receive, i.Found.Send)
	}
}
