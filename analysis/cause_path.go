package analysis

import (
	"fmt"
	"math"
)

// pathCause is another path between the endpoints: what else costs a CPU, where packets are of one size, is what
// switches, encapsulates and copies them on the way.
func pathCause(c contrast) []Cause {
	worse, better := c.names()
	w, b := pathOf(c.worse), pathOf(c.better)
	if w == b {
		return nil
	}
	ratio, differs := c.two(costPerKiB(atBoth)).ratio()
	if !differs || ratio <= 1 {
		return nil
	}
	cause := Cause{Factor: "path", Share: notKnown(), end: atBoth, rank: rank{dearer, math.Log(ratio) / 2},
		Says: fmt.Sprintf("the path is another: %s in %s, %s in %s", w, worse, b, better)}
	return []Cause{cause}
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
