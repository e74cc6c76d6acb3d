package run

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"windtunnel/agent/proto"
	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Builds tells whether a testbed is made for any node, so that it is this host's.
func (p Plan) Builds() bool {
	return slices.ContainsFunc(p.Nodes, func(n result.RunNode) bool { return len(n.Exec) == 0 })
}

// CPUs are those of a node.
func (p Plan) CPUs(node string) []int {
	for _, n := range p.Nodes {
		if n.Name == node {
			return n.CPUs
		}
	}
	return nil
}

// The bounds of what a place may tell of itself.
const (
	mostCPUs = 8192
	mostMTU  = 65535 // of an IP packet
)

// Meet takes in what the places that run already told of themselves, by node: their CPUs, and the addresses between
// which each pair's traffic flows. A cell for which there are none is not measured.
func (p *Plan) Meet(told map[string]*proto.Place) error {
	machines := map[string]int{} // the first node on each
	for i := range p.Nodes {
		n := &p.Nodes[i]
		place := told[n.Name]
		if len(n.Exec) == 0 {
			continue
		}
		if err := checkPlace(n.Name, place); err != nil {
			return err
		}
		n.CPUs = place.CPUs
		if other, known := machines[place.Machine]; known && place.Machine != "" {
			n.Shared, p.Nodes[other].Shared = true, true
			p.Doubts = append(p.Doubts, result.Doubt{Kind: "shared-cpus",
				Says: fmt.Sprintf("%s and %s are on one machine: CPU figures of each are the whole machine's", p.Nodes[other].Name, n.Name)})
		} else {
			machines[place.Machine] = i
		}
		p.Doubts = append(p.Doubts, result.Doubt{Kind: "whole-machine",
			Says: "CPU figures of places that run already hold all else that their machines do"})
	}
	p.cpuNeeds()
	for i := range p.Cells {
		cell := &p.Cells[i]
		if cell.Record.Path != datapath.Existing || cell.Record.Skipped != "" {
			continue
		}
		if err := p.join(cell, told); err != nil {
			cell.Record.Skipped = err.Error()
		}
	}
	return nil
}

// checkPlace refuses what no agent of ours tells.
func checkPlace(name string, place *proto.Place) error {
	switch {
	case place == nil:
		return fmt.Errorf("the agent of %s tells nothing of the place that it is in", name)
	case len(place.CPUs) == 0 || len(place.CPUs) > mostCPUs || slices.ContainsFunc(place.CPUs, func(c int) bool { return c < 0 || c >= mostCPUs }):
		return fmt.Errorf("the agent of %s tells of %d CPUs, and 1 to %d are possible", name, len(place.CPUs), mostCPUs)
	}
	for _, a := range place.Addresses {
		if _, err := netip.ParsePrefix(a.Prefix); err != nil || a.MTU < datapath.MinimumMTU || len(a.Device) > 15 {
			return fmt.Errorf("the agent of %s tells of the address %.60q, MTU %d, at %.20q, which cannot be", name, a.Prefix, a.MTU, a.Device)
		}
	}
	return nil
}

// join chooses the addresses of a cell's pairs.
func (p *Plan) join(cell *PlannedCell, told map[string]*proto.Place) error {
	laid := &cell.Laid
	laid.ByPair, laid.Published = make([]string, len(cell.Record.Pairs)), make([]datapath.Published, len(cell.Record.Pairs))
	least := mostMTU
	for i, pair := range cell.Record.Pairs {
		from, to := told[pair.From.Node], told[pair.To.Node]
		leaves, arrives, err := p.route(i, cell, pair, from, to)
		if err != nil {
			return err
		}
		least = min(least, leaves.MTU, arrives.MTU)
		for node, device := range map[string]string{pair.From.Node: leaves.Device, pair.To.Node: arrives.Device} {
			carries(&laid.Graph, node, device)
		}
	}
	laid.MTU.Endpoint = least
	cell.Record.MTU = laid.MTU
	return nil
}

// carries notes a device that carries a node's traffic.
func carries(g *testbed.Graph, node, device string) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Name == node && device != "" && !slices.Contains(n.Devices, device) {
			n.Devices = append(n.Devices, device)
		}
	}
}

// loopback is where a place reaches itself.
var loopback = proto.Address{Prefix: "127.0.0.1/8", MTU: mostMTU}

// route chooses where the i-th pair's receiver listens and by which interfaces its traffic goes: the address that the
// suite names, else one in a network that both places are in, else the one by which the receiver reaches anywhere.
func (p *Plan) route(i int, cell *PlannedCell, pair result.Pair, from, to *proto.Place) (leaves, arrives proto.Address, err error) {
	said := p.addressOf(pair.To.Node)
	if published, err := netip.ParseAddrPort(said); err == nil {
		cell.Laid.Published[i] = datapath.Published{Address: published.Addr(), Port: int(published.Port()), Beside: int(published.Port()) + 1}
		return leaving(from, published.Addr()), leaving(to, published.Addr()), nil
	}
	arrives = loopback
	if from.Stack == "" || from.Stack != to.Stack || from.Machine != to.Machine || said != "" {
		if arrives, err = arrival(pair.To.Node, said, from, to); err != nil {
			return leaves, arrives, err
		}
	}
	ip := netip.MustParsePrefix(arrives.Prefix).Addr()
	cell.Laid.ByPair[i] = ip.String()
	if arrives == loopback {
		return loopback, arrives, nil
	}
	return leaving(from, ip), arrives, nil
}

// addressOf is what the suite says of a node.
func (p *Plan) addressOf(node string) string {
	for _, n := range p.Suite.Nodes {
		if n.Name == node {
			return n.Address
		}
	}
	return ""
}

// arrival is the address of a place at which others reach it.
func arrival(name, said string, from, to *proto.Place) (proto.Address, error) {
	best, rank := proto.Address{}, -1
	for _, a := range to.Addresses {
		prefix := netip.MustParsePrefix(a.Prefix) // checkPlace has read it
		if said != "" {
			if prefix.Addr().String() == said {
				return a, nil
			}
			continue
		}
		if own := slices.ContainsFunc(from.Addresses, func(b proto.Address) bool {
			return netip.MustParsePrefix(b.Prefix).Addr() == prefix.Addr()
		}); own {
			continue // docker0 has one address on many hosts
		}
		worth := 0
		if slices.ContainsFunc(from.Addresses, func(b proto.Address) bool { return sameNetwork(b.Prefix, a.Prefix) }) {
			worth += 4
		}
		if a.Default {
			worth += 2
		}
		if prefix.Addr().Is4() {
			worth++
		}
		if worth > rank {
			best, rank = a, worth
		}
	}
	switch {
	case rank >= 0:
		return best, nil
	case said != "":
		return best, fmt.Errorf("%s has no address %s; if a port is published there, write `address: %s:PORT`", name, said, said)
	}
	return best, fmt.Errorf("%s has no address that others could reach: name the one where its traffic arrives, `address: IP`, or `address: IP:PORT` of a published port", name)
}

func sameNetwork(a, b string) bool {
	p, q := netip.MustParsePrefix(a), netip.MustParsePrefix(b)
	return p.Bits() == q.Bits() && p.Masked() == q.Masked() && !p.IsSingleIP()
}

// leaving is the address whose interface, as far as addresses and the default route tell, carries what goes to ip.
func leaving(from *proto.Place, ip netip.Addr) proto.Address {
	best, bits := proto.Address{MTU: mostMTU}, -2
	for _, a := range from.Addresses {
		prefix := netip.MustParsePrefix(a.Prefix)
		switch {
		case prefix.Contains(ip) && prefix.Bits() > bits:
			best, bits = a, prefix.Bits()
		case a.Default && prefix.Addr().Is4() == ip.Is4() && bits < 0:
			best, bits = a, -1
		}
	}
	return best
}

// cpuNeeds skips cells that ask for more CPUs than their places turn out to have.
func (p *Plan) cpuNeeds() {
	for i, cell := range p.Suite.Cells {
		for _, n := range p.nodesOf(cell.Pairs) {
			if len(n.Exec) > 0 && len(n.CPUs) < cell.Requires.CPUs && p.Cells[i].Record.Skipped == "" {
				p.Cells[i].Record.Skipped = "needs " + strconv.Itoa(cell.Requires.CPUs) + " CPUs a node, " + n.Name + " has " + strconv.Itoa(len(n.CPUs))
			}
		}
	}
}

// mostJourneys bounds how many journeys are drawn of one cell.
const mostJourneys = 8

// Show draws what lies between the places of every cell that runs between such, from what was seen in them. host is
// this machine's own stack, nil if no place is on it.
func (p *Plan) Show(seen map[string]testbed.Seen, host *testbed.Seen) {
	var views []testbed.View
	at := map[string]int{}
	for _, n := range p.Nodes {
		s, looked := seen[n.Name]
		if !looked {
			continue
		}
		if i := slices.IndexFunc(views, func(v testbed.View) bool { return sameStack(v.Seen, s) }); i >= 0 {
			views[i].Name, at[n.Name] = views[i].Name+", "+n.Name, i
			continue
		}
		at[n.Name] = len(views)
		views = append(views, testbed.View{Name: "PLACE " + n.Name, Seen: s})
	}
	if host != nil && !slices.ContainsFunc(views, func(v testbed.View) bool { return sameStack(v.Seen, *host) }) {
		views = append(views, testbed.View{Name: "THIS HOST", Seen: *host})
	}
	for i := range p.Cells {
		if cell := &p.Cells[i]; cell.Record.Path == datapath.Existing && cell.Record.Skipped == "" {
			cell.Record.Topology = journeys(*cell, views, at)
		}
	}
}

func sameStack(a, b testbed.Seen) bool {
	return a.Machine != "" && a.Stack != "" && a.Machine == b.Machine && a.Stack == b.Stack
}

// journeys draws those of a cell's pairs, one for both directions.
func journeys(cell PlannedCell, views []testbed.View, at map[string]int) string {
	drawn := map[[2]string]bool{}
	var text strings.Builder
	for _, pair := range cell.Record.Pairs {
		from, to := pair.From.Node, pair.To.Node
		a, seen := at[from]
		b, alsoSeen := at[to]
		if !seen || !alsoSeen || drawn[[2]string{from, to}] || drawn[[2]string{to, from}] || len(drawn) == mostJourneys {
			continue
		}
		drawn[[2]string{from, to}] = true
		if a == b {
			fmt.Fprintf(&text, "%s\n  | within one network stack\n\n", views[a].Name)
			continue
		}
		text.WriteString(testbed.Journey(views, a, device(cell, from, views[a].Seen), b, device(cell, to, views[b].Seen)) + "\n")
	}
	return strings.TrimRight(text.String(), "\n") + "\n"
}

// device is the one by which a place's traffic passes, "" if several might be.
func device(cell PlannedCell, node string, seen testbed.Seen) string {
	n, _ := cell.Laid.Graph.Node(node)
	if len(n.Devices) != 1 || !slices.ContainsFunc(seen.Links, func(l testbed.SeenLink) bool { return l.Name == n.Devices[0] }) {
		return ""
	}
	return n.Devices[0]
}
