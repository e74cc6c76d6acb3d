package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// pathCause is another path between the endpoints, or another place of theirs: what else costs a CPU, where packets are of
// one size, is what switches, encapsulates and copies them on the way, and what cuts and joins them at a wire.
func pathCause(c contrast) []Cause {
	ratio, differs := c.two(costPerKiB(atBoth)).ratio()
	if !differs || ratio <= 1 {
		return nil
	}
	worse, better := c.names()
	var all []Cause
	add := func(factor, says, w, b string, evidence ...string) {
		if w != b {
			all = append(all, Cause{Factor: factor, Share: notKnown(), end: atBoth, rank: rank{dearer, math.Log(ratio) / 2},
				Says: fmt.Sprintf("%s: %s in %s, %s in %s", says, w, worse, b, better), Evidence: evidence})
		}
	}
	add("path", "the path is another", pathOf(c.worse), pathOf(c.better))
	var sizes []string
	if size := c.two(metric(result.EndpointPacketSize)); size.known() {
		sizes = append(sizes, c.compared("%.0f bytes at the receiving stack", size))
	}
	add("wire", "the ends are at other places", placed(c.worse), placed(c.better), sizes...)
	return all
}

// placed says whether a cell's packets cross a wire.
func placed(c Cell) string {
	if c.Spec.Colocated() {
		return "on one node, whose CPUs they share, and without a wire that packets are cut for"
	}
	return "on two nodes, with a wire between them"
}

// pathOf is a path in words: its name, and what it wraps packets in.
func pathOf(c Cell) string {
	text := c.Spec.Path
	if mode := c.Spec.PathOptions.Text("mode"); mode != "" {
		text += " (" + mode + " mode)"
	}
	if wrapped := c.Spec.Layout["encapsulation"]; wrapped != "" && wrapped != "none" {
		text += " with " + wrapped
		if bytes := c.Spec.Layout["overhead_bytes"]; bytes != "" && bytes != "0" {
			text += fmt.Sprintf(", %s bytes a packet", bytes)
		}
	}
	return text
}
