package result

import (
	"fmt"
	"math"
	"slices"
)

// FullCPU is the busy share from which a CPU, or a thread, counts as full: the rest is what sampling and the scheduler's
// switches take.
const FullCPU = 0.95

// arrivedWhole is the share of what was sent from which on the senders are what a received rate ended at.
const arrivedWhole = 0.99

// atCPU is the full CPU that a cell's rate ended at, or the threads of its load that could do no more without one. The
// receivers' count first, since senders wait for them; the senders', which datagrams keep busy whatever becomes of
// them, only where what they sent arrived. What polls is always busy, so its cells have no such ceiling; nor have requests,
// which wait for answers, cells with another load beside theirs, and those that try a suspect, which are read against the cell that they are made of.
func (c Cell) atCPU(trials []Trial) (Ceiling, bool) {
	if c.Beside != "" || c.Intervention != nil || c.Load.Text("poll") == "busy" || slices.ContainsFunc(trials, Trial.polls) || slices.ContainsFunc(trials, Trial.asks) {
		return Ceiling{}, false
	}
	receiving, full := c.fullAt(trials, c.Receivers(), PairSample.Receivers)
	switch {
	case full && (c.apart() || c.arrives(trials)):
		return receiving, true
	case full || !c.arrives(trials):
		return Ceiling{}, false
	}
	return c.fullAt(trials, c.Senders(), PairSample.Senders)
}

// apart tells whether no node both sends and receives.
func (c Cell) apart() bool {
	return !slices.ContainsFunc(c.Receivers(), func(node string) bool { return slices.Contains(c.Senders(), node) })
}

// arrives tells whether what was sent came, in the mean of the trials; false where that is not known.
func (c Cell) arrives(trials []Trial) bool {
	sent, okSent := meanValue(c, trials, SentRate)
	received, okReceived := meanValue(c, trials, ReceivedRate)
	return okSent && okReceived && received >= arrivedWhole*sent
}

// fullAt looks at one end: first at the CPUs of its nodes, then at the threads of the load.
func (c Cell) fullAt(trials []Trial, nodes []string, ends func(PairSample) []PairEnd) (Ceiling, bool) {
	for _, node := range nodes {
		if cpu, busy := fullest(trials, node); busy >= FullCPU {
			return Ceiling{Kind: CeilingCPU, Node: node, Says: fmt.Sprintf("a full CPU of node %s, which %s", node, c.does(node)),
				Seen: fmt.Sprintf("CPU %d of node %s was %.0f %% busy", cpu, node, 100*busy)}, true
		}
	}
	if busy := leastBusy(trials, ends); busy >= FullCPU && len(nodes) == 1 {
		return Ceiling{Kind: CeilingThread, Node: nodes[0], Says: fmt.Sprintf("the load's own threads on node %s, which %s", nodes[0], c.does(nodes[0])),
			Seen: fmt.Sprintf("the load's threads on node %s were %.0f %% busy, and no CPU there was full", nodes[0], 100*busy)}, true
	}
	return Ceiling{}, false
}

// does is a node's part in a cell.
func (c Cell) does(node string) string {
	sends, receives := slices.Contains(c.Senders(), node), slices.Contains(c.Receivers(), node)
	switch {
	case sends && receives:
		return "sends and receives"
	case sends:
		return "sends"
	}
	return "receives"
}

// fullest is the CPU of a node that was busiest in the mean of the trials; a share of 0 where none is known.
func fullest(trials []Trial, node string) (number int, share float64) {
	shares, n := map[int]float64{}, 0
	for _, t := range trials {
		s := t.Nodes[node]
		if !(s.WindowSeconds > 0) {
			continue
		}
		n++
		for _, cpu := range s.CPUs {
			shares[cpu.CPU] += cpu.Busy / s.WindowSeconds
		}
	}
	for cpu, sum := range shares {
		if mean := sum / float64(n); mean > share || mean == share && cpu < number {
			number, share = cpu, mean
		}
	}
	return number, share
}

// leastBusy is the busy share of the least busy pair's threads at one end, in the mean of the trials; 0 where one does not tell.
func leastBusy(trials []Trial, ends func(PairSample) []PairEnd) float64 {
	sum := 0.0
	for _, t := range trials {
		least := math.Inf(1)
		for _, p := range t.Pairs {
			for _, e := range ends(p) {
				if !(e.WindowSeconds > 0) || e.Threads < 1 {
					return 0
				}
				least = math.Min(least, e.CPUSeconds/(e.WindowSeconds*float64(e.Threads)))
			}
		}
		if math.IsInf(least, 0) {
			return 0
		}
		sum += least
	}
	return sum / float64(max(len(trials), 1))
}

// polls tells whether something of the cell looked for packets without ever sleeping.
func (t Trial) polls() bool {
	for _, p := range t.Pairs {
		if p.Sender.Cycles != nil || p.Receiver.Cycles != nil {
			return true
		}
	}
	_, polls := t.polling()
	return polls
}

// asks tells of requests that are answered.
func (t Trial) asks() bool {
	return slices.ContainsFunc(t.Pairs, func(p PairSample) bool { return p.Sender.Asks() })
}

// meanValue is a metric's mean over the trials that have it; false where none has.
func meanValue(c Cell, trials []Trial, m Metric) (mean float64, known bool) {
	mean = meanOf(trials, func(t Trial) (float64, bool) {
		v, err := c.Value(t, m)
		known = known || err == nil
		return v, err == nil
	})
	return mean, known
}
