package analysis

import "fmt"

// loadCause is another kind of load: its protocol, its calls and its packets are all another's, and what they cost is one.
func loadCause(c contrast) []Cause {
	if c.sameLoad() {
		return nil
	}
	worse, better := c.names()
	return []Cause{{Factor: "load", Share: notKnown(), end: atBoth, rank: rank{dearer, 2},
		Says: fmt.Sprintf("the loads are of two kinds: %s in %s, %s in %s", c.worse.Spec.Traffic, worse, c.better.Spec.Traffic, better)}}
}

func (c contrast) sameLoad() bool { return c.worse.Spec.Traffic == c.better.Spec.Traffic }
