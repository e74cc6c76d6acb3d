package run

import (
	"fmt"
	"strings"

	"windtunnel/result"
	"windtunnel/testbed"
)

// astray says why what arrived did not come over the interfaces that are the wire between real hosts, ""
// if it did: the counters of both ends prove it.
func (c *Conductor) astray(cell PlannedCell, t result.Trial) string {
	if cell.Record.Wire != testbed.WireNetwork || len(cell.Laid.Graph.Nodes) < 2 {
		return ""
	}
	received, sent := map[string]uint64{}, map[string]uint64{}
	for i, pair := range cell.Record.Pairs {
		if pair.From.Node == pair.To.Node {
			continue
		}
		for _, way := range t.Pairs[i].Ways() {
			to, from := pair.To.Node, pair.From.Node
			if way.Back {
				to, from = from, to
			}
			received[to] += counted(way.Receiver)
			sent[from] += counted(way.Receiver)
		}
	}
	for _, node := range cell.Laid.Graph.Nodes {
		var devices []string
		var in, out uint64
		for _, nic := range node.NICs() { // of several links each carries a part
			l := wireOf(t.Nodes[node.Name], node.Name, nic.Device)
			devices, in, out = append(devices, nic.Device), in+l.RxBytes, out+l.TxBytes
		}
		if short(in, received[node.Name]) || short(out, sent[node.Name]) {
			return fmt.Sprintf("%s of node %s carried %d bytes in and %d out, and %d and %d arrived: something went another way",
				strings.Join(devices, " and "), node.Name, in, out, received[node.Name], sent[node.Name])
		}
	}
	return ""
}

// beside is what a frame's size has beside its packet: the Ethernet header and FCS (IEEE 802.3, clause 3).
const beside = 14 + 4

// counted are the bytes of what an end took that interfaces count at least. Of frames no NIC need count the FCS, and a virtual pair with
// NAPI does not count their headers (veth_xdp_rcv in drivers/net/veth.c), so that of the smallest 46 bytes of 64 are left.
func counted(end result.PairEnd) uint64 {
	if end.Frames == nil {
		return end.Bytes
	}
	return end.Bytes - min(end.Bytes, beside*end.Packets)
}

// short compares within what windows of different ends differ by.
func short(carried, arrived uint64) bool { return float64(carried) < (1-windowLimit)*float64(arrived) }

func wireOf(node result.NodeSample, place, device string) result.LinkSample {
	for _, l := range node.Links {
		if l.Place == place && l.Device == device && l.Role == result.RoleWire {
			return l
		}
	}
	return result.LinkSample{}
}
