package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// mostLayers is how many layers evidence names.
const mostLayers = 5

// layersMore says which layers made a KiB dearer for a node in the worse cell, the largest first: those whose bounds, over
// blocks, hold nothing but more, where the node has a part in both cells and was sampled.
func (c contrast) layersMore(node string) []string {
	if !slices.Contains(c.better.involved(), node) {
		return nil
	}
	change, ok := changesAt(node, c.worse.blocks[node], c.better.blocks[node])
	if !ok || !change.Sum.Known() || !(change.Sum.Mean > 0) {
		return nil
	}
	var parts []string
	for _, layer := range change.Changes {
		f := layer.PerKiB
		if len(parts) < mostLayers && f.Low != nil && *f.Low > 0 && math.Round(f.Mean) > 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f", layer.Layer, f.Mean))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	worse, better := c.names()
	return []string{fmt.Sprintf("by its stacks, a KiB took node %s %.0f ns more in %s than in %s; of that %s", node, change.Sum.Mean, worse, better, strings.Join(parts, ", "))}
}
