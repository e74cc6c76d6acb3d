package scenario

import (
	"fmt"
	"net/netip"
	"slices"

	"windtunnel/result"
)

// readExec reads how a place that runs already is entered: a list of words, or a place's short form.
func (r *reader) readExec(n *node, to *Node) {
	if n.shape == scalar {
		if place, ok := parsed(r, n, "`exec`", ParsePlace); ok {
			to.Exec, to.Address = place.Exec, place.Address
		}
		return
	}
	if !r.isList(n, "`exec`", maxExec) {
		return
	}
	if len(n.items) == 0 {
		r.add(n.at, "`exec` is empty; say the command that runs another in the place: [docker, exec, -i, web]")
	}
	to.Exec = nil
	for _, item := range n.items {
		if word, ok := r.text(item, "a word of `exec`"); ok {
			to.Exec = append(to.Exec, word)
		}
	}
}

// checkExec refuses what makes sense of a place that runs already on a node that is made.
func (r *reader) checkExec(at position, n Node) {
	if len(n.Exec) == 0 && n.Program+n.Address != "" {
		r.add(at, fmt.Sprintf("the node %s has `program` or `address`, which are for a place that runs already: say how it is entered, `exec: [docker, exec, -i, web]`", n.Name))
	}
	if len(n.Exec) > 0 && n.SharedCPUs {
		r.add(at, fmt.Sprintf("the node %s runs already, with whatever CPUs it has: leave out `cpus: shared`", n.Name))
	}
}

// readExecPlace reads `{exec: [docker, exec, -i, web], on: a}`, which says of the node a how it is entered.
func (r *reader) readExecPlace(n *node) (result.Place, bool) {
	var entered Node
	placed := false
	r.readKeys(n, "a place that runs already", []handler{
		{key: "exec", read: func(n *node) { r.readExec(n, &entered) }},
		{key: "on", read: func(n *node) { entered.Name, placed = r.nodeName(n) }},
	})
	if n.get("on") == nil {
		r.add(n.at, "the place lacks `on`, the node that it is: `{exec: [...], on: NODE}`")
	}
	if !placed || len(entered.Exec) == 0 {
		return result.Place{}, false
	}
	known := &r.spec.Nodes[slices.IndexFunc(r.spec.Nodes, func(k Node) bool { return k.Name == entered.Name })]
	if len(known.Exec) > 0 && !slices.Equal(known.Exec, entered.Exec) {
		r.add(n.at, fmt.Sprintf("the node %s is entered by `%s` elsewhere: give each place a node of its own", known.Name, result.Clip(fmt.Sprint(known.Exec))))
		return result.Place{}, false
	}
	known.Exec = entered.Exec
	if known.Address == "" {
		known.Address = entered.Address
	}
	return result.Place{Node: known.Name}, true
}

// runAlready tells whether all of the nodes are places that run already.
func (r *reader) runAlready(nodes []string) bool {
	for _, n := range r.spec.Nodes {
		if slices.Contains(nodes, n.Name) && len(n.Exec) == 0 {
			return false
		}
	}
	return len(nodes) > 0
}

// asTheSystemHas leaves TCP the congestion control of the places, unless the suite said another: it is theirs that is
// asked about, and they may not let anybody choose.
func asTheSystemHas(load, said result.Options) {
	const congestion = "congestion"
	if _, chosen := said[congestion]; !chosen && load[congestion] != nil {
		load[congestion] = "system"
	}
}

// parseAddress takes an IP or IP:port.
func parseAddress(text string) (string, error) {
	if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
		return ip.String(), nil
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil || at.Port() == 0 || at.Addr().Zone() != "" {
		return "", fmt.Errorf("`%s` is no address; write 10.0.0.2, or 10.0.0.2:5201 where a port is published", result.Clip(text))
	}
	return at.String(), nil
}
