package run

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"windtunnel/result"
)

// wireEnd is one of a real host's ends of the wires of a cell.
type wireEnd struct {
	NIC
	node string
}

// nics are a host's interfaces for data.
func (h Host) nics() []NIC {
	if h.NIC == nil {
		return nil
	}
	return append([]NIC{*h.NIC}, h.Members...)
}

// ends are those of a cell whose nodes are joined by so many links, those of one node after those of another; of a pair on one node there
// are none.
func (h Host) ends(pairs []result.Pair, links int) (all []wireEnd) {
	for _, pair := range pairs {
		for _, node := range []string{pair.From.Node, pair.To.Node} {
			known := slices.ContainsFunc(all, func(e wireEnd) bool { return e.node == node })
			if pair.From.Node == pair.To.Node || known {
				continue
			}
			nics := h.Nodes[node].nics()
			for _, nic := range nics[:min(links, len(nics))] {
				all = append(all, wireEnd{nic, node})
			}
		}
	}
	return all
}

// unjoined says why so many links do not join a cell's hosts, "" if they do, or one is enough, at which agents look themselves.
func (h Host) unjoined(pairs []result.Pair, links int) string {
	if links < 2 {
		return ""
	}
	for _, pair := range pairs {
		for _, node := range []string{pair.From.Node, pair.To.Node} {
			nics := h.Nodes[node].nics()
			if pair.From.Node == pair.To.Node || len(nics) == 0 || len(nics) >= links {
				continue
			}
			has := fmt.Sprintf("%d interfaces", len(nics))
			if len(nics) == 1 {
				has = "one interface"
			}
			return fmt.Sprintf("%d links join its nodes, and node %s has %s for data: name the host's own address in the network of each link, `data=%s`",
				links, node, has, strings.Join(slices.Repeat([]string{"ADDRESS"}, links), "+"))
		}
		if why := h.crossed(pair, links); why != "" {
			return why
		}
	}
	return ""
}

// crossed says which link of two hosts has its ends in two networks.
func (h Host) crossed(pair result.Pair, links int) string {
	from, to := h.Nodes[pair.From.Node].nics(), h.Nodes[pair.To.Node].nics()
	for i := range min(links, len(from), len(to)) {
		near, bad := netip.ParsePrefix(from[i].Address)
		far, worse := netip.ParsePrefix(to[i].Address)
		if bad == nil && worse == nil && !(near.Contains(far.Addr()) && far.Contains(near.Addr())) {
			return fmt.Sprintf("its nodes' data addresses %s of %s and %s of %s are of two networks: name those of one link at the same place of both hosts' `data=`",
				near, pair.From.Node, far, pair.To.Node)
		}
	}
	return ""
}
