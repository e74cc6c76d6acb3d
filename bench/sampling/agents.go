package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"windtunnel/bench"
	"windtunnel/bench/agentcost"
)

const agentSays = "A node's agent with one container, and in the trial a TCP stream to it on the same CPU: what it ran while it waits for 5 s, with heartbeats, and from the trial's warm-up on until it has " +
	"answered, by a window of %s. Samples are taken in interrupts of whatever runs, and idle tasks are followed at the scheduler's switches, on all CPUs; of both it is the BPF programs' time, without the timers'. The medians of %d agents, with the least and the most of them."

// agentWindow is as long as a run's longest.
const agentWindow = 3 * time.Second

// agents measures so many in turn, without and with stacks, and writes their section.
func agents(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp("", "windtunnel-bench-")
	if err != nil {
		return fmt.Errorf("making a folder for the agents: %w", err)
	}
	defer os.RemoveAll(dir)
	var plain, stacks []agentcost.Cost
	for round := range s.agents {
		for _, sampled := range []bool{false, true} {
			lease := filepath.Join(dir, fmt.Sprint(round, sampled))
			c, err := agentcost.Measure(ctx, s.program, lease, agentcost.Work{Waits: 5 * time.Second, Window: agentWindow, Stacks: sampled})
			if err != nil {
				return fmt.Errorf("%s: %w", s.program, err)
			}
			fmt.Fprintf(stderr, "agent %d, stacks %t: %+v\n", round+1, sampled, c)
			if sampled {
				stacks = append(stacks, c)
			} else {
				plain = append(plain, c)
			}
		}
	}
	table := agentTable(plain, stacks)
	fmt.Fprint(stdout, table)
	if s.results == "" {
		return nil
	}
	return bench.Section{Title: "What an agent costs", Says: fmt.Sprintf(agentSays, agentWindow, 2*s.agents), Peers: "no peer", Where: table}.Write(s.results)
}

func agentTable(plain, stacks []agentcost.Cost) string {
	waiting := func(c agentcost.Cost) float64 { return 100 * c.Waiting }
	sampling := func(c agentcost.Cost) float64 { return 100 * c.Sampling }
	interrupts := func(c agentcost.Cost) float64 { return 100 * c.Interrupts }
	memory := func(c agentcost.Cost) float64 { return float64(c.ResidentBytes) / 1e6 }
	begins := func(c agentcost.Cost) float64 { return 1e3 * c.Begins.Seconds() }
	both := slices.Concat(plain, stacks)
	var b strings.Builder
	b.WriteString("| what | figure | goal |\n|---|---|---|\n")
	fmt.Fprintf(&b, "| while it waits | %s %% of a CPU | < %.3g |\n", spread(both, waiting), 100*agentcost.MostWaiting)
	fmt.Fprintf(&b, "| its memory, behind a trial | %s MB | < %.3g |\n", spread(both, memory), agentcost.MostResidentBytes/1e6)
	fmt.Fprintf(&b, "| in a window, counters alone | %s %% of a CPU | < %.3g |\n", spread(plain, sampling), 100*agentcost.MostSampling)
	fmt.Fprintf(&b, "| in a window, with stacks | %s %% of a CPU | < %.3g |\n", spread(stacks, sampling), 100*agentcost.MostSampling)
	fmt.Fprintf(&b, "| taking samples, in interrupts and switches | %s %% of a CPU | |\n", spread(stacks, interrupts))
	fmt.Fprintf(&b, "| before a trial's warm-up, counters alone | %s ms of CPU time | |\n", spread(plain, begins))
	fmt.Fprintf(&b, "| before a trial's warm-up, with stacks | %s ms of CPU time | |\n", spread(stacks, begins))
	return b.String()
}

// spread is the median with the least and the most.
func spread(all []agentcost.Cost, of func(agentcost.Cost) float64) string {
	var values []float64
	for _, c := range all {
		values = append(values, of(c))
	}
	slices.Sort(values)
	return fmt.Sprintf("%.2g [%.2g, %.2g]", values[len(values)/2], values[0], values[len(values)-1])
}
