package report

import (
	"windtunnel/analysis"
	"windtunnel/result"
)

// layersObject is what a cell's CPU time on one node went to.
type layersObject struct {
	Reason    *string                 `json:"reason"` // why it is not known
	Trials    int                     `json:"trials"`
	Period    float64                 `json:"period_seconds"` // of a CPU's time, for which one sample stands
	Packets   string                  `json:"packets"`        // which ones costs are of: received, on the wire
	Layers    map[string]layerCostObj `json:"layers"`
	Sum       layerCostObj            `json:"sum"`
	Measured  layerCostObj            `json:"measured"`    // by the CPUs' busy time
	Unsampled layerCostObj            `json:"not_sampled"` // what of that is in no layer; below 0: what the layers have too much
	Coverage  result.Figure           `json:"sum_percent_of_measured"`
	Sampled   result.Figure           `json:"samples_percent_of_measured"` // the sum without what is measured and not sampled
	Samples   uint64                  `json:"samples"`                     // of all trials
	Cut       uint64                  `json:"samples_shortened"`           // whose stacks were shortened to their outer frames, to fit a record
	Lost      uint64                  `json:"samples_lost"`                // whose stacks nothing is known of
	Late      uint64                  `json:"samples_late"`                // that came when their program had left the CPU
}

// layerCostObj is a layer's CPU time. Beside says that it is not the cell's work.
type layerCostObj struct {
	PerKiB    result.Figure `json:"ns_per_kib"`
	PerPacket result.Figure `json:"ns_per_packet"`
	Share     result.Figure `json:"percent"`
	Beside    bool          `json:"beside,omitempty"`
}

// layerChangeObject is by how much a layer costs more in a ratio's first cell than in its second.
type layerChangeObject struct {
	Node   string                   `json:"node"` // empty: all nodes together
	Layers map[string]result.Figure `json:"ns_per_kib"`
	Sum    result.Figure            `json:"sum_ns_per_kib"`
}

func layersOf(c analysis.Cell) map[string]layersObject {
	all := map[string]layersObject{}
	for _, n := range c.Layers {
		o := layersObject{Reason: orNull(n.Reason), Trials: n.Trials, Period: n.PeriodSeconds, Packets: n.Packets, Layers: map[string]layerCostObj{},
			Sum: costOf(n.Sum), Measured: costOf(n.Measured), Unsampled: costOf(n.NotSampled), Coverage: n.Coverage, Sampled: n.Sampled, Samples: n.Samples, Cut: n.Cut, Lost: n.Lost, Late: n.Late}
		for _, cost := range n.Costs {
			o.Layers[string(cost.Layer)] = costOf(cost)
		}
		all[n.Node] = o
	}
	return all
}

func costOf(l analysis.LayerCost) layerCostObj {
	return layerCostObj{l.PerKiB, l.PerPacket, l.Share, l.Layer.Beside()}
}

func changesOf(r analysis.Ratio) []layerChangeObject {
	var all []layerChangeObject
	for _, at := range r.Layers {
		o := layerChangeObject{Node: at.Node, Layers: map[string]result.Figure{}, Sum: at.Sum}
		for _, c := range at.Changes {
			o.Layers[string(c.Layer)] = c.PerKiB
		}
		all = append(all, o)
	}
	return all
}

// csvLayers are a cell's: the node stands in from, the layer behind the metric's name.
func csvLayers(c analysis.Cell) [][]string {
	var lines [][]string
	for _, n := range c.Layers {
		for _, cost := range append([]analysis.LayerCost{n.Sum, n.NotSampled, n.Measured}, n.Costs...) {
			if n.Reason != "" {
				continue
			}
			lines = append(lines,
				csvFigure([]string{"layer", c.Spec.Name, "ns_per_kib." + string(cost.Layer), n.Node, ""}, cost.PerKiB),
				csvFigure([]string{"layer", c.Spec.Name, "ns_per_packet." + string(cost.Layer), n.Node, ""}, cost.PerPacket))
		}
	}
	return lines
}

// csvChanges are a ratio's.
func csvChanges(r analysis.Ratio) [][]string {
	var lines [][]string
	for _, at := range r.Layers {
		for _, c := range at.Changes {
			lines = append(lines, csvFigure([]string{"layer-change", r.Ratio.Over + "-" + r.Ratio.Under, "ns_per_kib." + string(c.Layer), at.Node, ""}, c.PerKiB))
		}
	}
	return lines
}
