package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// elsewhere is the share of the receive threads' time from which receive work is done elsewhere.
const elsewhere = 0.5

// steeringCause is receive work that is done on other CPUs than the receiving node's, or all on one of several.
func steeringCause(c contrast) []Cause {
	if cause, ok := c.awayFromNode(); ok {
		return []Cause{cause}
	}
	if cause, ok := c.onOneCPU(); ok {
		return []Cause{cause}
	}
	return nil
}

// awayFromNode compares which part of their time the threads that receive for the receivers' interfaces spent on CPUs
// that are not their node's.
func (c contrast) awayFromNode() (Cause, bool) {
	away := c.two(awayShare)
	w, b := away.means()
	if !away.known() || w < elsewhere || b >= elsewhere {
		return Cause{}, false
	}
	worse, better := c.names()
	cause := Cause{Factor: "steering", Share: notKnown(), end: atBoth, rank: rank{dearer, math.Inf(1)},
		Says: fmt.Sprintf("what the receiver's node gets is received on CPUs that are not its own: for %s of the time that this took in %s, %s in %s", percent(w), worse, percent(b), better)}
	for _, node := range c.worse.involved() {
		if cpu, ok := c.worse.Profile.Nodes[node].Fullest(); ok && cpu.Busy < full { // cpuCause says which was full
			cause.Evidence = append(cause.Evidence, fmt.Sprintf("CPU %d of %s was %s", cpu.CPU, c.worse.end(node), split(cpu)))
		}
	}
	if s := c.worse.Spec.Wired; s != nil && s.Steer != "" {
		cause.Evidence = append(cause.Evidence, "the wire is set so: "+s.Words())
	}
	return cause, true
}

func awayShare(c Cell, t result.Trial) (float64, bool) {
	away, own := 0.0, 0.0
	for _, node := range c.Spec.Receivers() {
		s := t.Nodes[node]
		if s.ReceiveAway != nil {
			away += *s.ReceiveAway
		}
		for _, cpu := range s.CPUs {
			if cpu.Receive != nil {
				own += *cpu.Receive
			}
		}
	}
	return away / (away + own), away+own > 0
}

// onOneCPU compares the largest share of a receiving node's packets that one of its CPUs received.
func (c contrast) onOneCPU() (Cause, bool) {
	most := c.two(onFullestCPU)
	w, b := most.means()
	if !most.known() || w < notSpread || w-b < heldBack {
		return Cause{}, false
	}
	worse, better := c.names()
	return Cause{Factor: "one-cpu", Share: notKnown(), end: atReceiver, rank: rank{dearer, math.Inf(1)},
		Says: fmt.Sprintf("one CPU of the receiver's node received %s of its packets in %s, %s in %s", percent(w), worse, percent(b), better)}, true
}

func onFullestCPU(c Cell, t result.Trial) (float64, bool) {
	most, known := 0.0, false
	for _, node := range c.Spec.Receivers() {
		sum, one := 0.0, 0.0
		for _, cpu := range t.Nodes[node].CPUs {
			if cpu.Processed == nil {
				return 0, false
			}
			sum, one = sum+float64(*cpu.Processed), math.Max(one, float64(*cpu.Processed))
		}
		if len(t.Nodes[node].CPUs) > 1 && sum > 0 {
			most, known = math.Max(most, one/sum), true
		}
	}
	return most, known
}
