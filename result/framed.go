package result

import "slices"

// etherHeader is what an Ethernet frame without its FCS has before its packet, without a tag.
const etherHeader = 14

// framed is what left by an end of the wire, in bytes of Ethernet frames without FCS; false where the record does not tell. The other end
// of a virtual pair that polls (NAPI, by which it aggregates) counts a packet when its Ethernet header is off, and a frame of XDP with that
// (veth_xdp_rcv in drivers/net/veth.c); what left this end is told by that. One that does not poll counts whole frames (veth_xmit there).
func (c Cell) framed(t Trial, sender string, l LinkSample) (bytes uint64, known bool) {
	if c.Wire != wireNIC {
		return l.TxBytes, true
	}
	polls, known := t.wirePolls(sender)
	switch {
	case !known || !polls:
		return l.TxBytes, known
	case l.TxXDP != nil:
		return l.TxBytes + etherHeader*(l.TxPackets-min(l.TxPackets, *l.TxXDP)), true
	}
	for _, p := range t.Pairs { // in records that do not tell: only frames are sent by XDP, unless a path has it forward
		if p.Sender.Frames != nil || p.Receiver.Frames != nil {
			return l.TxBytes, false
		}
	}
	return l.TxBytes + etherHeader*l.TxPackets, true
}

// wirePolls tells whether the wire's ends at other nodes received by NAPI: records from before they told it have their settings.
func (t Trial) wirePolls(sender string) (polls, known bool) {
	for name, s := range t.Nodes {
		for _, l := range s.Links {
			switch {
			case l.Role != RoleWire || name == sender:
			case l.RxNAPI != nil:
				polls, known = polls || *l.RxNAPI > 0, true
			case l.Settings != nil:
				polls, known = polls || slices.Contains(l.Settings.On, OffloadGRO), true
			}
		}
	}
	return polls, known
}
