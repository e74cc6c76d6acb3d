package scenario

import (
	"fmt"
	"windtunnel/result"
)

// readNodes reads `nodes: {a: {}, b: {cpus: shared}}`.
func (r *reader) readNodes(n *node) {
	if !r.isMapping(n, "`nodes`") {
		return
	}
	if len(n.fields) == 0 {
		r.add(n.at, "a suite needs at least one node: `nodes: {a: {}, b: {}}`")
	}
	for i, f := range n.fields {
		if i == maxNodes {
			r.add(f.at, fmt.Sprintf("a suite has at most %d nodes", maxNodes))
			return
		}
		if !r.isPlaceName(f.at, "the node", f.key) {
			continue
		}
		made := Node{Name: f.key}
		r.readKeys(f.value, "a node", []handler{
			{key: "cpus", read: func(n *node) { made.SharedCPUs = r.isShared(n) }},
			{key: "requires", read: func(n *node) { r.readRequires(n, &made.Requires) }},
			{key: "exec", read: func(n *node) { r.readExec(n, &made) }},
			{key: "program", read: r.into(&made.Program, "`program`")},
			{key: "address", read: func(n *node) { made.Address, _ = parsed(r, n, "`address`", parseAddress) }},
		})
		r.checkExec(f.at, made)
		r.nodes = append(r.nodes, made.Name)
		r.spec.Nodes = append(r.spec.Nodes, made)
	}
}

func (r *reader) isShared(n *node) bool {
	if _, err := result.ParseCount(n.text); n.shape == scalar && err == nil {
		r.add(n.at, "a node's own `cpus` is `shared` or left out; how many it needs is `requires: {cpus: "+n.text+"}`")
		return false
	}
	_, ok := r.word(n, "value of `cpus`", []string{"shared"})
	return ok
}
