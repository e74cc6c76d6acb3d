package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// heldUp is the share of the sender's threads' time without a CPU from which it is a cause, beyond the other cell's.
const heldUp = 0.10

// generatorCause is a sender that was kept from sending: its threads could run and had no CPU, by another program or
// by a quota of CPU time. While they had one they were as fast as ever, so that their rate is by so much less. What the
// path itself takes of that CPU is no such thing: it is what the path costs.
func generatorCause(c contrast) []Cause {
	waits := c.two(senderWait)
	if !waits.known() || c.reached() {
		return nil
	}
	w, b := waits.means()
	if w-b < heldUp {
		return nil
	}
	busy := c.two(senderBusy)
	wBusy, _ := busy.means()
	worse, better := c.names()
	cause := Cause{Factor: "generator", Share: notKnown(), rank: rank{bound, w - b},
		Says: fmt.Sprintf("the sender was kept from sending: its threads could run and had no CPU for %s of the time in %s, %s in %s", percent(w), worse, percent(b), better)}
	who, own := c.hadTheCPU(w)
	cause.Evidence = append(cause.Evidence, who)
	if own {
		cause.rank.order = seen
		return []Cause{cause}
	}
	cause.Evidence = append(cause.Evidence, "the figure is one of the generator, and not of the path")
	if w+wBusy < allOfIt || c.worse.Limited() == result.RateReached { // it waited for other things too, or had sent all that was asked for
		return []Cause{cause}
	}
	cause.Evidence = append(cause.Evidence, fmt.Sprintf("they ran for %s of the time: all of it is work or waiting for a CPU, so more CPU time would have sent more", percent(wBusy)))
	var part []float64
	for i := range waits.worse {
		part = append(part, math.Log(1-math.Min(waits.better[i], 0.99))-math.Log(1-math.Min(waits.worse[i], 0.99)))
	}
	if cause.Share = c.share(part); cause.Share.Known() {
		cause.By = "the sender's rate in the time that it ran, had it run for all of the time that it could"
	} else {
		cause.Share = result.Missing("seen, its share is not known: " + cause.Share.Reason)
	}
	return []Cause{cause}
}

// hadTheCPU says who had the CPU that the worse cell's senders waited for, for so much of the time, and whether that may
// have been the path itself: a proxy, a switch in user space.
func (c contrast) hadTheCPU(waited float64) (says string, own bool) {
	cpu, known := c.worse.fullest(atSender)
	if !known {
		return "who had the CPU is not known: the CPUs were not sampled", pathOf(c.worse) != pathOf(c.better)
	}
	if idle := 1 - cpu.Busy; idle >= waited/2 {
		return fmt.Sprintf("the busiest CPU there was idle for %s of the time: a quota of CPU time kept them from it", percent(idle)), false
	}
	others, sampled := c.othersAt(atSender)
	if !sampled {
		return "who had the CPU is not known: stacks were not sampled", pathOf(c.worse) != pathOf(c.better)
	}
	if others >= waited/2 {
		return fmt.Sprintf("programs that have no part in the cell had %s of a CPU there", percent(others)), false
	}
	return fmt.Sprintf("the cell's own work had the CPU: programs that have no part in it had %s of one", percent(others)), true
}

// othersAt is how many of an end's CPUs were busy with what is not the worse cell's, by its sampled stacks.
func (c contrast) othersAt(end string) (cpus float64, sampled bool) {
	n := 0.0
	for _, node := range c.worse.nodesAt(end) {
		for _, number := range sortedBlocks(c.worse.blocks[node]) {
			for layer, busy := range c.worse.blocks[node][number].busy {
				if layer.Beside() {
					cpus += busy
				}
			}
			n++
		}
	}
	return cpus / math.Max(n, 1), n > 0
}

// allOfIt is the share of the sender's time that work and waiting for a CPU make up, from which nothing else held it up.
const allOfIt = 0.90

// senderWait is the share of the senders' threads' time in which they could run and had no CPU, and neither the kernel's
// packet threads had it, whose work is the path's, nor one of their own.
func senderWait(c Cell, t result.Trial) (float64, bool) {
	return senderShare(c, t, func(s senderTimes, at result.NodeSample) float64 {
		return math.Max(0, s.waited-result.WaitedForOwn(s.threads, len(at.CPUs), s.ran, at.KernelThreadSeconds))
	})
}

// senderBusy is the share in which they ran.
func senderBusy(c Cell, t result.Trial) (float64, bool) {
	return senderShare(c, t, func(s senderTimes, _ result.NodeSample) float64 { return s.ran })
}

// senderShare is a part, in seconds at a node, of all of the senders' threads' time; false where no thread is known.
func senderShare(c Cell, t result.Trial, part func(senderTimes, result.NodeSample) float64) (float64, bool) {
	sum, all := 0.0, 0.0
	for _, node := range c.involved() {
		s := sendersAt(c, t, node)
		sum, all = sum+part(s, t.Nodes[node]), all+s.all
	}
	if !(all > 0) {
		return 0, false
	}
	return math.Min(1, sum/all), true
}

// senderTimes are those of the senders' threads on a node, in seconds, summed over them.
type senderTimes struct {
	threads          int
	ran, waited, all float64
}

func sendersAt(c Cell, t result.Trial, node string) (sum senderTimes) {
	for i, p := range t.Pairs {
		if i >= len(c.Spec.Pairs) {
			break
		}
		for _, way := range p.Ways() {
			from, e := c.Spec.Pairs[i].From.Node, way.Sender
			if way.Back {
				from = c.Spec.Pairs[i].To.Node
			}
			if from != node || e.Generator != nil && e.Threads == 0 {
				continue
			}
			sum.threads += e.Threads
			sum.ran += e.CPUSeconds
			sum.all += float64(e.Threads) * e.WindowSeconds
			if e.Offered != nil {
				sum.waited += e.Offered.WaitSeconds
			}
		}
	}
	return sum
}
