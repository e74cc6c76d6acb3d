package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

const (
	// addsUp is how many percent of the measured CPU time the layers may miss, either way.
	addsUp = 10
	// byChance is how many standard deviations of their number samples may be off by chance.
	byChance = 3
	// doubtfulCut is the share of samples without their inner frames, or without any, from which layers are doubted.
	doubtfulCut = 0.05
)

// trust reckons how far the layers can be believed, of all trials together.
func (l *NodeLayers) trust(blocks map[int]trialLayers) {
	asked, found, measured, cpus := 0.0, 0.0, 0.0, 0.0
	for _, number := range sortedBlocks(blocks) {
		t := blocks[number]
		asked += t.asked
		found += t.sum()
		measured += t.measured
		cpus += float64(len(t.profile.CPUs))
		l.Samples, l.Cut, l.Lost, l.Late = l.Samples+t.profile.Taken, l.Cut+t.profile.Cut, l.Lost+t.profile.Lost, l.Late+t.late
	}
	if !(measured > 0 && asked > 0 && cpus > 0) {
		return
	}
	busy := min(measured/cpus, 1) // the share of answers that are not idle, of which there are asked * busy
	missed := 100 * (found/measured - 1)
	if math.Abs(missed) > 100*byChance*math.Sqrt((1-busy)/(asked*busy)) {
		l.Misses = missed
	}
}

// layerDoubts tell of layers that do not add up to the CPU time that was measured apart from them, and of stacks that
// did not fit.
func layerDoubts(c Cell) []result.Doubt {
	var doubts []result.Doubt
	add := func(kind, format string, values ...any) {
		doubts = append(doubts, result.Doubt{Cell: c.Spec.Name, Kind: kind, Says: fmt.Sprintf(format, values...)})
	}
	for _, l := range c.Layers {
		switch {
		case l.Misses < -addsUp:
			add("layers", "what its layers cost on node %s is %.0f %% less than the CPU time that was measured there: the rest is in none of them", l.Node, -l.Misses)
		case l.Misses > addsUp:
			add("layers", "what its layers cost on node %s is %.0f %% more than the CPU time that was measured there", l.Node, l.Misses)
		}
		if l.Samples == 0 {
			continue
		}
		if part := float64(l.Cut) / float64(l.Samples); part >= doubtfulCut {
			add("stacks-cut", "%s of the stacks on node %s were shortened to their outer frames, so that they fit a record: their layers are those of callers", percent(part), l.Node)
		}
		if part := float64(l.Lost) / float64(l.Samples); part >= doubtfulCut {
			add("stacks-lost", "nothing is known of %s of the stacks on node %s, for want of room: they count as %s", percent(part), l.Node, LayerOther)
		}
	}
	return doubts
}
