package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// mostOfIt is the share of a difference from which other programs are what bound the worse cell.
const mostOfIt = 0.5

// othersCause is a full CPU that programs without a part in the cell had more of in the worse cell: what they took is neither
// the path's nor the load's. Whose CPU it was is known of a node with one.
func othersCause(c contrast) []Cause {
	var all []Cause
	for _, end := range []string{atReceiver, atSender} {
		if _, _, full := c.fullCPU(end); !full {
			continue
		}
		others := c.two(othersOf(end))
		w, b := others.means()
		if !others.known() || w-b < heldUp {
			continue
		}
		worse, better := c.names()
		cause := Cause{Factor: "other-programs", Share: notKnown(), rank: rank{seen, w - b},
			Says: fmt.Sprintf("programs that have no part in the cell had %s of the %s's CPU in %s, %s in %s", percent(w), end, worse, percent(b), better)}
		var part []float64
		for i := range others.worse {
			part = append(part, math.Log(1-math.Min(others.better[i], 0.99))-math.Log(1-math.Min(others.worse[i], 0.99)))
		}
		if share := c.share(part); share.Known() && share.Mean >= mostOfIt {
			cause.rank.order, cause.Share, cause.By = bound, share, "the rate in the time that they left, had they left all of it"
			cause.Evidence = append(cause.Evidence, "the machine was not the run's own: run it again where nothing else works")
		}
		all = append(all, cause)
	}
	return all
}

// othersOf is the share of the CPU of an end's nodes that programs without a part in the cell had in a trial, by its samples.
func othersOf(end string) value {
	return func(of Cell, t result.Trial) (share float64, known bool) {
		for _, node := range of.nodesAt(end) {
			sampled, ok := of.blocks[node][t.Block]
			if !ok || len(t.Nodes[node].CPUs) != 1 {
				return 0, false
			}
			others := 0.0
			for layer, busy := range sampled.busy {
				if layer.Beside() {
					others += busy
				}
			}
			share, known = math.Max(share, others), true
		}
		return share, known
	}
}
