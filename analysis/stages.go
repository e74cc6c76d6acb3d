package analysis

import (
	"errors"
	"slices"

	"windtunnel/result"
)

// stages are the means over the trials that have them.
func (c Cell) stages(trials []result.Trial) map[string]result.Figure {
	all := map[string]result.Figure{}
	for _, t := range trials {
		for stage := range stagesOf(t) {
			if _, done := all[stage]; !done {
				all[stage] = c.mean(trials, func(t result.Trial) (float64, error) {
					if cycles, told := stagesOf(t)[stage]; told {
						return cycles, nil
					}
					return 0, errors.New("no round was timed")
				})
			}
		}
	}
	return all
}

// stagesOf are the cycles of a packet in one trial, by stage, of all the switches that poll.
func stagesOf(t result.Trial) map[string]float64 {
	sums, packets := map[string]float64{}, 0.0
	for _, node := range t.Nodes {
		for _, s := range node.Switches {
			if s.Polling == nil || s.Polling.Timed == 0 {
				continue
			}
			packets += float64(s.Polling.Timed)
			for stage, cycles := range s.Polling.Stages {
				sums[stage] += float64(cycles)
			}
		}
	}
	for stage := range sums {
		sums[stage] /= packets
	}
	return sums
}

// deviceSources are those of all trials, in the order of their names.
func deviceSources(spec result.Cell, trials []result.Trial) (all []result.DeviceSource) {
	for _, t := range trials {
		if source := spec.DeviceSource(t); source != "" && !slices.Contains(all, source) {
			all = append(all, source)
		}
	}
	slices.Sort(all)
	return all
}
