// Command sampling measures what sampling stacks, as runs do for layer costs, takes from the traffic: the same
// loads with it and without it, in turn; and what a node's agent costs. It writes its sections of bench/RESULTS.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"windtunnel/bench"
	"windtunnel/bench/wire"
	"windtunnel/measure/profile"
	"windtunnel/result"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// settings are the command's flags.
type settings struct {
	results string
	rounds  int
	most    int
	window  time.Duration
	nice    int
	agents  int
	program string
	only    string
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == wire.WorkerCommand {
		return wire.RunWorker(stdin, stdout, stderr)
	}
	var s settings
	flags := flag.NewFlagSet("sampling", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.results, "results", "bench/RESULTS.md", "the `file` whose section is written; empty: none")
	flags.IntVar(&s.rounds, "rounds", 9, "at least so many rounds a load")
	flags.IntVar(&s.most, "most", 40, "at most so many, while a verdict is open")
	flags.DurationVar(&s.window, "window", time.Second, "the measured window of a trial")
	flags.IntVar(&s.nice, "nice", 0, "the workers' priority; -20 where other programs use the machine")
	flags.IntVar(&s.agents, "agents", 5, "so many agents without stacks, and with them")
	flags.StringVar(&s.program, "program", "bin/windtunnel", "the `file` whose agents are measured")
	flags.StringVar(&s.only, "only", "", "`agents` or `stacks` alone")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if !slices.Contains([]string{"", "agents", "stacks"}, s.only) || s.agents < 1 {
		fmt.Fprintln(stderr, "bench-sampling: -only takes agents or stacks, and -agents at least 1")
		return 2
	}
	return bench.Command("bench-sampling", stderr, func(ctx context.Context) error {
		if s.only != "stacks" {
			if err := agents(ctx, s, stdout, stderr); err != nil || s.only != "" {
				return err
			}
		}
		return compare(ctx, s, stdout, stderr)
	})
}

// load is what is sent, and how much of its rate has to be left.
type load struct {
	name, kind string
	options    result.Options
	rate       func(wire.Ours) float64
}

// left is the share of a rate that is to be left: 2 % is what sampling may cost.
const left = 0.98

var loads = []load{
	{"received rate, TCP, 128 KiB messages", "stream", result.Options{"message": 128 << 10, "congestion": "cubic"},
		func(o wire.Ours) float64 { return o.Sample.RateTCP() }},
	{"packets received, UDP, 1400 B", "datagram", result.Options{"message": 1400, "segmentation": "off", "verify": "header"},
		func(o wire.Ours) float64 { return float64(o.Receiver.Packets) / o.Receiver.WindowSeconds }},
}

const says = "Between two network namespaces, a CPU each, on a wire as a NIC: the same load while the stacks of both CPUs are sampled, as in the windows of a run, over the same load without. The windows are %s long. " +
	"A trial in which other programs used more than %.0f %% of the CPUs is repeated."

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) (err error) {
	sampler, err := profile.Open([]int{wire.A.CPU, wire.B.CPU})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sampler.Close()) }()
	w, err := wire.Lay(ctx, wire.NIC, s.nice)
	if err != nil {
		return err
	}
	defer w.Remove()
	section := bench.Section{Title: "What sampling stacks costs", Says: fmt.Sprintf(says, s.window, 100*wire.Disturbed), Peers: "itself without samples"}
	for _, l := range loads {
		c := &bench.Comparison{What: l.name + ", sampled / not sampled", Goal: bench.Goal{Ratio: left}}
		for round := 0; round < s.rounds || round < s.most && !bench.Decided([]*bench.Comparison{c}); round++ {
			samples, err := w.Round(ctx, round, l.programs(s, sampler))
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			fmt.Fprintf(stderr, "%s, round %d: %.4g sampled, %.4g not\n", l.name, round+1, samples[0].PerSecond, samples[1].PerSecond)
			c.Add(samples[0].PerSecond, samples[1].PerSecond)
		}
		fmt.Fprintln(stdout, c.Row())
		section.Comparisons = append(section.Comparisons, c)
	}
	if s.results == "" {
		return nil
	}
	return section.Write(s.results)
}

// programs are the load with samples and without.
func (l load) programs(s settings, sampler *profile.Sampler) []wire.Program {
	trial := func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
		o, err := w.RunOurs(ctx, s.window, l.kind, l.options)
		if err != nil {
			return o.Sample, err
		}
		o.Sample.PerSecond = l.rate(o)
		return o.Sample, nil
	}
	return []wire.Program{
		{Name: "sampled", Run: func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
			if err := sampler.Start(); err != nil {
				return wire.Sample{}, err
			}
			sample, err := trial(ctx, w)
			window, stopped := sampler.Stop()
			_, taken := sampler.Take(window)
			return sample, errors.Join(err, stopped, taken)
		}},
		{Name: "not sampled", Run: trial},
	}
}
