package analysis

import (
	"fmt"
	"math"
	"strings"

	"windtunnel/result"
)

// The share of packets lost from which it is a cause, and how many times the other cell's.
const (
	lossMatters = 0.001
	lossTimes   = 3
	// probing is the share of TCP's segments lost at a full queue up to which that is how it finds what a path carries: it
	// sends more until a segment is lost (RFC 5681, section 3.1).
	probing = 0.01
)

// lossCause is packets that were lost or sent again. Where a CPU was full they follow from that; those that a rule, or a
// switch by its own decision, drops do not.
func lossCause(c contrast) []Cause {
	if cause, ok := c.droppedByRule(); ok {
		return []Cause{cause}
	}
	lost := c.two(lossShare)
	w, b := lost.means()
	if !lost.known() || w < lossMatters || w < lossTimes*b {
		return nil
	}
	worse, better := c.names()
	cause := Cause{Factor: "loss", Share: notKnown(), rank: rank{bound, c.boundByLoss()}, Says: "packets were lost: " + c.lostWords(w, b)}
	place := c.dropper()
	if place != "" {
		dropped := c.worse.Drops[place].Mean
		cause.Evidence = append(cause.Evidence, fmt.Sprintf("%s: %.0f packets in a trial of %s, %.0f in %s", place, dropped, worse, c.better.Drops[place].Mean, better))
		if all, counted := c.lostPackets(); !counted || dropped >= all/2 {
			cause.Says += ", most at " + place
		} else {
			cause.Evidence = append(cause.Evidence, fmt.Sprintf("of the %.0f packets that were lost in a trial, no counter says where most were", all))
		}
	}
	if _, _, full := c.fullCPU(atBoth); full {
		cause.rank.order = seen
		cause.Evidence = append(cause.Evidence, "a CPU was full: what comes too fast for it is lost")
	} else if _, numbered := c.lostPackets(); !numbered && w < probing && atFullQueue(place) {
		cause.rank.order = seen
		cause.Evidence = append(cause.Evidence, "so few, at a full queue, are how TCP finds what the path carries")
	}
	return []Cause{cause}
}

// boundByLoss is the part of the time for which losses may have bound the worse cell: of TCP's segments, that in which it had
// data to send and waited for neither the receiver nor its own buffer; of numbered packets, all of it.
func (c contrast) boundByLoss() float64 {
	if _, numbered := c.lostPackets(); numbered {
		return 1
	}
	free := c.two(ofConnections(func(t result.Connection) float64 {
		return math.Max(0, t.BusySeconds-t.RwndLimitedSeconds-t.SndbufLimitedSeconds)
	}))
	if !free.known() {
		return 1
	}
	part, _ := free.means()
	return part
}

// atFullQueue tells of places that drop what they have no room for: devices' own counters, and queues.
func atFullQueue(place string) bool {
	return strings.HasSuffix(place, "_dropped") || strings.HasSuffix(place, "full")
}

func (c contrast) lostWords(w, b float64) string {
	worse, better := c.names()
	if _, numbered := c.lostPackets(); !numbered {
		return fmt.Sprintf("TCP sent %s of its segments again in %s, %s in %s", smallPercent(w), worse, smallPercent(b), better)
	}
	return fmt.Sprintf("%s were in %s, %s in %s", smallPercent(w), worse, smallPercent(b), better)
}

// droppedByRule is the one that drops most, if that is a share of what came to it that matters, and so much more than
// in the other cell: TCP takes losses for congestion, however idle the path.
func (c contrast) droppedByRule() (Cause, bool) {
	most, share, place := 0.0, 0.0, ""
	for _, name := range sortedKeys(c.ruleDrops()) {
		w, b := c.two(func(_ Cell, t result.Trial) (float64, bool) { return dropShare(t)[name], true }).means()
		if dropped := c.worse.Drops[name].Mean; w >= lossMatters && w >= lossTimes*b && dropped >= few && dropped > most {
			most, share, place = dropped, w, name
		}
	}
	if place == "" {
		return Cause{}, false
	}
	worse, better := c.names()
	lost := c.two(lossShare)
	cause := Cause{Factor: "loss", Share: notKnown(), rank: rank{bound, c.boundByLoss()},
		Says:     fmt.Sprintf("packets were dropped at %s: %s of those that came there in %s", place, smallPercent(share), worse),
		Evidence: []string{fmt.Sprintf("%.0f packets in a trial of %s, %.0f in %s", c.worse.Drops[place].Mean, worse, c.better.Drops[place].Mean, better)}}
	if lost.known() {
		cause.Evidence = append(cause.Evidence, c.lostWords(lost.means()))
	}
	return cause, true
}

// ruleDrops are the places at which rules and switches drop by their own decision, rather than because a queue was full.
func (c contrast) ruleDrops() map[string]bool {
	all := map[string]bool{}
	for _, b := range c.blocks {
		for name := range dropShare(b.worse) {
			all[name] = true
		}
	}
	return all
}

// dropShare is by such a place the share of the packets that came to it.
func dropShare(t result.Trial) map[string]float64 {
	all := map[string]float64{}
	for _, s := range t.Nodes {
		for _, w := range s.Switches {
			for name, n := range w.Drops {
				if w.Received > 0 && !strings.Contains(name, "full") && !strings.Contains(name, "overrun") {
					all[w.Switch+" "+name] = float64(n) / float64(w.Received)
				}
			}
		}
	}
	return all
}

// lossShare is the share of packets that were lost, or of TCP's segments that were sent again.
func lossShare(_ Cell, t result.Trial) (float64, bool) {
	if a, ok := arrivals(t); ok && a.Expected > 0 {
		return float64(a.Lost) / float64(a.Expected), true
	}
	again, out := 0.0, 0.0
	for connection := range connections([]result.Trial{t}) {
		again, out = again+float64(connection.Retransmits), out+float64(connection.SegmentsOut)
	}
	return again / math.Max(out, 1), out > 0
}

// dropper is where most of what the worse cell lost beyond the other's was dropped, "" where no counter names it.
func (c contrast) dropper() (place string) {
	most := 0.0
	for _, name := range sortedKeys(c.worse.Drops) {
		if more := c.worse.Drops[name].Mean - c.better.Drops[name].Mean; more > most {
			place, most = name, more
		}
	}
	return place
}

// lostPackets are those of a trial of the worse cell, where its load numbers them.
func (c contrast) lostPackets() (mean float64, counted bool) {
	lost := c.two(func(_ Cell, t result.Trial) (float64, bool) {
		a, ok := arrivals(t)
		return float64(a.Lost), ok && a.Expected > 0
	})
	mean, _ = lost.means()
	return mean, lost.known()
}

// smallPercent writes a small share.
func smallPercent(share float64) string {
	if share > 0 && share < 0.001 {
		return fmt.Sprintf("%.2g %%", 100*share)
	}
	return percent(share)
}
