package run

import (
	"fmt"

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
			received[to] += way.Receiver.Bytes
			sent[from] += way.Receiver.Bytes
		}
	}
	for _, link := range cell.Laid.Graph.Links {
		for _, end := range link.Ends {
			if link.Role != result.RoleWire {
				continue
			}
			l := wireOf(t.Nodes[end.Place], end)
			if short(l.RxBytes, received[end.Place]) || short(l.TxBytes, sent[end.Place]) {
				return fmt.Sprintf("%s of node %s carried %d bytes in and %d out, and %d and %d arrived: something went another way",
					end.Device, end.Place, l.RxBytes, l.TxBytes, received[end.Place], sent[end.Place])
			}
		}
	}
	return ""
}

// short compares within what windows of different ends differ by.
func short(carried, arrived uint64) bool { return float64(carried) < (1-windowLimit)*float64(arrived) }

func wireOf(node result.NodeSample, end testbed.Interface) result.LinkSample {
	for _, l := range node.Links {
		if l.Place == end.Place && l.Device == end.Device && l.Role == result.RoleWire {
			return l
		}
	}
	return result.LinkSample{}
}
