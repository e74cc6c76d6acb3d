package scenario

import (
	"fmt"

	"windtunnel/result"
)

// maxLosses bounds how many goals a search has: each takes its part of the time.
const maxLosses = 8

// setFind reads `find: {loss: [0, 0.1%]}`, a search for the rate of a cell's traffic; `none`
// takes an inherited one away.
func (k *kinded) setFind(r *reader, n *node) {
	k.find = nil
	if n.shape == scalar && n.text == "none" {
		return
	}
	find := result.Find{Method: result.MethodMLR}
	var least, most *node
	r.readKeys(n, "`find`", []handler{
		{key: "loss", read: func(n *node) { find.Losses = r.losses(n) }},
		{key: "method", read: func(n *node) {
			if v, ok := r.word(n, "method of search", []string{result.MethodMLR, result.MethodRFC2544, result.MethodTST009}); ok {
				find.Method = v
			}
		}},
		{key: "unit", read: func(n *node) {
			if v, ok := r.word(n, "unit", []string{result.BitsPerSecond, result.PacketsPerSecond}); ok {
				find.Unit = v
			}
		}},
		{key: "min", read: func(n *node) { least = n }},
		{key: "max", read: func(n *node) { most = n }},
		{key: "budget", read: func(n *node) { find.BudgetSeconds, _ = parsed(r, n, "`budget`", result.ParseSeconds) }},
	})
	if n.get("loss") == nil && n.shape == mapping {
		r.add(n.at, "`find` lacks `loss`: what may be lost, as in `find: {loss: [0, 0.5%]}`")
	}
	find.Min, find.Max = r.bound(least, "min", &find), r.bound(most, "max", &find)
	if find.Min > 0 && find.Max > 0 && find.Min >= find.Max {
		r.add(least.at, "`min` is not below `max`")
	}
	k.find = &find
}

// losses reads one loss or a list of them.
func (r *reader) losses(n *node) []float64 {
	items := []*node{n}
	if n.shape != scalar {
		if !r.isList(n, "`loss`", maxLosses) {
			return nil
		}
		items = n.items
	}
	if len(items) == 0 {
		r.add(n.at, "`loss` is empty; say `[0, 0.5%]`")
	}
	var all []float64
	for _, item := range items {
		v, ok := parsed(r, item, "`loss`", result.ParseLossRatio)
		for _, other := range all {
			if ok && other == v {
				r.add(item.at, fmt.Sprintf("the loss %s stands here twice", result.Clip(item.text)))
				ok = false
			}
		}
		if ok {
			all = append(all, v)
		}
	}
	return all
}

// bound reads a load, whose unit says which one the search has, where `unit` does not.
func (r *reader) bound(n *node, key string, find *result.Find) float64 {
	if n == nil {
		return 0
	}
	what := "`" + key + "`"
	if find.Unit == "" {
		find.Unit = result.PacketsPerSecond
		if _, err := result.ParseBitRate(n.text); err == nil {
			find.Unit = result.BitsPerSecond
		}
	}
	parse := result.ParsePacketRate
	if find.Unit == result.BitsPerSecond {
		parse = result.ParseBitRate
	}
	v, ok := parsed(r, n, what, parse)
	if ok && !(v > 0) {
		r.add(n.at, what+" is 0; leave it out")
	}
	return v
}
