package scenario

import (
	"fmt"
	"slices"

	"windtunnel/result"
)

// everyPair is the word for all pairs of the suite's nodes.
const everyPair = "every"

// setPairs replaces the cell's pairs: `[{from: a, to: {container: c, on: b}}]`.
func (d *draft) setPairs(n *node) {
	r := d.r
	d.paired = true
	if n.shape == scalar && n.text == everyPair {
		d.cell.Pairs = r.everyPair(n)
		return
	}
	if !r.isList(n, "`pairs`", maxPairs) {
		return
	}
	if len(n.items) == 0 {
		r.add(n.at, "`pairs` is empty; say `[{from: a, to: b}]`")
	}
	d.cell.Pairs = nil
	homes := map[string]string{} // of the cell's containers
	for _, item := range n.items {
		for _, pair := range r.readPairs(item, homes) {
			switch {
			case slices.Contains(d.cell.Pairs, pair):
				r.add(item.at, fmt.Sprintf("the pair from %s to %s stands here twice; for more connections raise `streams`", pair.From.Name(), pair.To.Name()))
			case len(d.cell.Pairs) == maxPairs:
				r.add(item.at, fmt.Sprintf("these are more than %d pairs", maxPairs))
				return
			default:
				d.cell.Pairs = append(d.cell.Pairs, pair)
			}
		}
	}
}

// everyPair are all pairs of the suite's nodes, in both directions.
func (r *reader) everyPair(n *node) []result.Pair {
	all := make([]result.Place, len(r.nodes))
	for i, name := range r.nodes {
		all[i].Node = name
	}
	pairs := cross(all, all)
	if len(pairs) == 0 || len(pairs) > maxPairs {
		r.add(n.at, fmt.Sprintf("`every` makes %d pairs of %d nodes; 1 to %d are possible", len(pairs), len(r.nodes), maxPairs))
		return nil
	}
	return pairs
}

// cross pairs everyone of the first with everyone of the second but itself.
func cross(from, to []result.Place) []result.Pair {
	var pairs []result.Pair
	for _, a := range from {
		for _, b := range to {
			if a != b {
				pairs = append(pairs, result.Pair{From: a, To: b})
			}
		}
	}
	return pairs
}

// readPairs reads `{from: a, to: b}`, or one with lists of places, each of the first with each of the second.
func (r *reader) readPairs(n *node, homes map[string]string) []result.Pair {
	if n.shape != mapping {
		r.add(n.at, fmt.Sprintf("a pair is %s; write `{from: a, to: b}`", n.describe()))
		return nil
	}
	ends, whole := map[string][]result.Place{}, true
	end := func(key string) func(*node) {
		return func(n *node) {
			items := []*node{n}
			if n.shape == list && r.isList(n, "`"+key+"`", maxPairs) {
				items = n.items
			}
			for _, item := range items {
				place, ok := r.readPlace(item, homes)
				whole = whole && ok
				ends[key] = append(ends[key], place)
			}
		}
	}
	r.readKeys(n, "a pair", []handler{{key: "from", read: end("from")}, {key: "to", read: end("to")}})
	for _, key := range []string{"from", "to"} {
		if n.get(key) == nil {
			r.add(n.at, fmt.Sprintf("the pair lacks `%s`", key))
		}
	}
	if !whole {
		return nil
	}
	if len(ends["from"]) == 0 || len(ends["to"]) == 0 {
		if n.get("from") != nil && n.get("to") != nil {
			r.add(n.at, "an end of the pair is an empty list; write `{from: [a, b], to: c}`")
		}
		return nil
	}
	pairs := cross(ends["from"], ends["to"])
	if len(pairs) == 0 {
		r.add(n.at, fmt.Sprintf("the pair goes from %s to itself; a pair has two places", ends["from"][0].Name()))
	}
	return pairs
}

// readPlace reads `a`, a node, `{container: sender, on: a}`, or `{vm: sender, on: a}`.
func (r *reader) readPlace(n *node, homes map[string]string) (result.Place, bool) {
	if n.shape == scalar {
		node, ok := r.nodeName(n)
		return result.Place{Node: node}, ok
	}
	if n.shape != mapping {
		r.add(n.at, fmt.Sprintf("a place is %s; write a node's name, `{container: NAME, on: NODE}` or `{vm: NAME, on: NODE}`", n.describe()))
		return result.Place{}, false
	}
	var place result.Place
	named, placed := false, false
	if exec := n.get("exec"); exec != nil && n.get("container") == nil {
		return r.readExecPlace(n)
	}
	r.readKeys(n, "a place", []handler{
		{key: "container", read: func(n *node) { place.Container, named = r.placeName(n, "the container") }},
		{key: "vm", read: func(n *node) { place.VM, named = r.placeName(n, "the VM") }},
		{key: "nic", read: func(n *node) { place.NIC, _ = r.count(n, "`nic`", 0, maxVMNICs-1) }},
		{key: "on", read: func(n *node) { place.Node, placed = r.nodeName(n) }},
		{key: "exec", misplaced: "a place is a container or entered by `exec`, not both"},
	})
	switch vm := n.get("vm") != nil; {
	case n.get("on") == nil:
		r.add(n.at, "the place lacks `on`: `{container: NAME, on: NODE}`")
	case n.get("container") == nil && !vm:
		r.add(n.at, "the place lacks `container`, or `vm`: `{container: NAME, on: NODE}`")
	case vm && n.get("container") != nil:
		r.add(n.at, "a place is a container or a VM, and not both")
		return place, false
	case n.get("nic") != nil && !vm:
		r.add(n.at, "`nic` is an interface of a VM: `{vm: NAME, nic: 1, on: NODE}`")
	}
	if place.VM != "" {
		place.Container = vmPlace(place.VM, place.NIC)
	}
	return place, named && placed && r.livesHere(n, place, homes)
}

// vmPlace names an interface of a VM: the first has the VM's own name.
func vmPlace(vm string, nic int) string {
	if nic == 0 {
		return vm
	}
	return fmt.Sprintf("%s-%d", vm, nic)
}

func (r *reader) nodeName(n *node) (string, bool) {
	text, ok := r.text(n, "a node's name")
	if !ok || len(r.nodes) == 0 { // which was said about `nodes`
		return "", false
	}
	if !slices.Contains(r.nodes, text) {
		r.add(n.at, result.UnknownWord("node", text, r.nodes)+"; a container is written {container: NAME, on: NODE}")
		return "", false
	}
	return text, true
}

func (r *reader) placeName(n *node, what string) (string, bool) {
	text, ok := r.text(n, what+"'s name")
	if !ok || !r.isPlaceName(n.at, what, text) {
		return "", false
	}
	if slices.Contains(r.nodes, text) {
		r.add(n.at, fmt.Sprintf("%s `%s` has a node's name; give it another", what, text))
		return "", false
	}
	return text, true
}

// livesHere refuses one container on two nodes: a cell's places are told apart
// by their names.
func (r *reader) livesHere(n *node, place result.Place, homes map[string]string) bool {
	home, known := homes[place.Container]
	if known && home != place.Node {
		r.add(n.at, fmt.Sprintf("the container `%s` is on %s already; give the one on %s another name", place.Container, home, place.Node))
		return false
	}
	homes[place.Container] = place.Node
	return true
}
