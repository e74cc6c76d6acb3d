package scenario

import (
	"fmt"
	"windtunnel/result"
)

// readAssumed reads what the source had: `assumed: {nodes: {cpus: 2, memory:
// 4GiB, link: 10Gbit/s, data-nic: separate}, storage: 50 GB}`. These four words have types, so that a
// report can compare them; every other is kept as written.
func (r *reader) readAssumed(n *node) {
	if !r.isMapping(n, "`assumed`") {
		return
	}
	for _, f := range n.fields {
		if f.key == "nodes" {
			r.readAssumedNodes(f.value)
		} else {
			r.keepAssumed(f)
		}
	}
}

func (r *reader) readAssumedNodes(n *node) {
	if !r.isMapping(n, "`assumed.nodes`") {
		return
	}
	to := &r.spec.Assumed
	for _, f := range n.fields {
		switch f.key {
		case "cpus":
			to.CPUs, _ = r.count(f.value, "`cpus`", 1, maxCPUs)
		case "memory":
			to.MemoryBytes, _ = parsed(r, f.value, "`memory`", result.ParseSize)
		case "link":
			to.LinkBitsPerSecond, _ = parsed(r, f.value, "`link`", result.ParseBitRate)
		case "data-nic":
			to.DataNIC, _ = r.word(f.value, "value of `data-nic`", []string{"separate", "shared"})
		default:
			r.keepAssumed(f)
		}
	}
}

func (r *reader) keepAssumed(f field) {
	to := &r.spec.Assumed
	text, ok := r.text(f.value, "`"+result.Clip(f.key)+"`")
	if !ok {
		return
	}
	if _, twice := to.Other[f.key]; twice {
		r.add(f.at, fmt.Sprintf("`%s` is assumed twice", result.Clip(f.key)))
		return
	}
	if to.Other == nil {
		to.Other = map[string]string{}
	}
	to.Other[f.key] = text
}
