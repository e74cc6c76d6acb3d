package result

import (
	"errors"
	"fmt"
	"slices"
)

// packetRate sums the pairs' datagrams, frames or transactions at one end, per
// second.
func packetRate(pairs []PairSample, end func(PairSample) []PairEnd) (float64, error) {
	sum, counted := 0.0, false
	for _, p := range pairs {
		for _, e := range end(p) {
			if e.Error != "" && e.WindowSeconds <= 0 {
				return 0, fmt.Errorf("%s to %s: %s", p.From, p.To, e.Error)
			}
			counted = counted || e.numbered()
			if e.WindowSeconds > 0 {
				sum += float64(e.InWindow()) / e.WindowSeconds
			}
		}
	}
	if !counted {
		return 0, errors.New("the load counts no packets: TCP has none of its own")
	}
	return sum, nil
}

// numbered reports whether the end's load has packets at all.
func (e PairEnd) numbered() bool {
	return e.Packets > 0 || e.Arrived != nil || e.Frames != nil || len(e.Latencies) > 0
}

// transactions are completed requests per second, which the asking end counts.
func transactions(pairs []PairSample) (float64, error) {
	for _, p := range pairs {
		if !p.Sender.Asks() && p.Sender.Error == "" {
			return 0, errors.New("the load has no transactions")
		}
	}
	return packetRate(pairs, func(p PairSample) []PairEnd { return []PairEnd{p.Sender} })
}

// Arrivals adds up what became of the numbered packets of all pairs, in both
// directions; false where the load numbers none. Jitter is the mean over the ends to
// which some came.
func (t Trial) Arrivals() (Arrived, bool) {
	var sum Arrived
	numbered, timed := false, 0.0
	for _, p := range t.Pairs {
		for _, e := range append(p.Receivers(), asking(p)...) {
			if e.Arrived == nil {
				continue
			}
			numbered = true
			if e.Packets > 0 {
				timed++
			}
			a := e.Arrived
			sum.Expected += a.Expected
			sum.Lost += a.Lost
			sum.Behind += a.Behind
			sum.Late += a.Late
			sum.Reordered += a.Reordered
			sum.Duplicate += a.Duplicate
			sum.Corrupt += a.Corrupt
			sum.SocketDrops += a.SocketDrops
			sum.Jitter += a.Jitter
			sum.Flows += a.Flows
			if a.PerFlow != nil {
				if sum.PerFlow == nil {
					sum.PerFlow = new(PerFlow)
				}
				sum.PerFlow.Merge(*a.PerFlow)
			}
			sum.Method, sum.Why = a.Method, a.Why
			sum.Raised = sum.Raised || a.Raised
			sum.Polled = sum.Polled || a.Polled
			sum.PollSeconds += a.PollSeconds
			sum.StoodSeconds += a.StoodSeconds
			sum.PollGain = max(sum.PollGain, a.PollGain)
			sum.Untold = append(sum.Untold, a.Untold...)
		}
	}
	if timed > 0 {
		sum.Jitter /= timed
	}
	return sum, numbered
}

// asking is the end that waits for answers: it counts those that never came.
func asking(p PairSample) []PairEnd {
	if !p.Sender.Asks() {
		return nil
	}
	return []PairEnd{p.Sender}
}

// arrival is a share in percent of the packets that were expected, or the jitter.
func arrival(t Trial, m Metric) (float64, error) {
	for _, p := range t.Pairs {
		if p.Receiver.Error != "" && p.Receiver.Arrived == nil {
			return 0, fmt.Errorf("%s to %s: %s", p.From, p.To, p.Receiver.Error)
		}
	}
	a, ok := t.Arrivals()
	if !ok {
		return 0, errors.New("the load does not number its packets")
	}
	if m == Jitter && timeless(t) {
		return 0, errors.New("frames are counted, not timed")
	}
	if slices.Contains(a.Untold, m) {
		return 0, errors.New("the generator does not tell it")
	}
	if a.Expected == 0 {
		return 0, errors.New("no packet was expected")
	}
	if m == Jitter && a.Expected == a.Lost+a.Late {
		return 0, errors.New("no packet came in time, so none was timed")
	}
	share := func(n uint64) (float64, error) { return 100 * float64(n) / float64(a.Expected), nil }
	switch m {
	case Loss:
		return share(a.Lost)
	case LatePackets:
		return share(a.Late)
	case Reordered:
		return share(a.Reordered)
	case Duplicates:
		return share(a.Duplicate)
	case Corrupt:
		return share(a.Corrupt)
	}
	return a.Jitter, nil
}

// timeless reports whether packets were counted by programs that do not time them.
func timeless(t Trial) bool {
	for _, p := range t.Pairs {
		if p.Receiver.Frames != nil {
			return true
		}
	}
	return false
}

// packetCost is the CPU time of the nodes per packet received, in nanoseconds.
func (c Cell) packetCost(t Trial, nodes, others []string) (float64, error) {
	packets, err := packetRate(t.Pairs, PairSample.Receivers)
	if err != nil {
		return 0, err
	}
	busy, err := t.busyOf(nodes, others)
	if err != nil {
		return 0, err
	}
	if packets <= 0 {
		return 0, errors.New("nothing was received")
	}
	return busy * 1e9 / packets, nil
}
