package analysis

import "windtunnel/result"

// idleTasksWork is how many CPUs were busy in their idle tasks: with interrupts, and with leaving and entering idle. It is
// the time in which idle tasks had CPUs, by the scheduler's switches, less the time in which these rested, by their busy
// time. False where the former is not known.
func idleTasksWork(p result.Profile, s result.NodeSample) (cpus float64, known bool) {
	busy := map[int]float64{}
	for _, cpu := range s.CPUs {
		busy[cpu.CPU] = cpu.Busy / s.WindowSeconds
	}
	if len(p.IdleSeconds) == 0 || len(p.IdleSeconds) != len(p.CPUs) {
		return 0, false
	}
	for i, idled := range p.IdleSeconds {
		b, ok := busy[p.CPUs[i]]
		if !ok {
			return 0, false
		}
		cpus += idled/p.WindowSeconds - (1 - b)
	}
	return cpus, true
}

// plausibleWakeUps leaves the layer out of all trials where it comes to nothing: of a single one it may be below 0, as the samples
// of idle tasks, which are few, may be too many by chance, and to leave out only those trials would add to the mean.
func plausibleWakeUps(blocks map[int]trialLayers) {
	all := 0.0
	for _, number := range sortedBlocks(blocks) {
		all += blocks[number].busy[LayerWakeUps] / blocks[number].kib
	}
	if all > 0 {
		return
	}
	for _, t := range blocks {
		delete(t.busy, LayerWakeUps)
	}
}
