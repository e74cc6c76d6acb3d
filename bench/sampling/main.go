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
	flags.IntVar(&s.rounds, "rounds", 40, "at least so many rounds a load, of four windows each")
	flags.IntVar(&s.most, "most", 220, "at most so many, while a verdict is open")
	flags.DurationVar(&s.window, "window", 250*time.Millisecond, "a window")
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

// load is what is sent, and what is counted of it.
type load struct {
	name, kind string
	options    result.Options
	of         func(wire.Count) uint64
}

// left is the share of a rate that is to be left: 2 % is what sampling may cost.
const left = 0.98

var loads = []load{
	{"received rate, TCP, 128 KiB messages", "stream", result.Options{"message": 128 << 10, "congestion": "cubic"}, func(c wire.Count) uint64 { return c.TCP }},
	{"packets received, UDP, 1400 B", "datagram", result.Options{"message": 1400, "segmentation": "off", "verify": "header"}, func(c wire.Count) uint64 { return c.UDP }},
}

const says = "Between two network namespaces, a CPU each, on a wire as a NIC: a load runs on, and the stacks of both CPUs are sampled, as in the windows of a run, or are not, in windows of %s in turn. " +
	"A round is four in a row, two of each, in the order ABBA or BAAB by chance, and its ratio is of the two with samples over the two without. At least %d rounds, and then until the interval, which is valid " +
	"at each look, lies on one side of the goal, or %d rounds are over; a load is connected anew after %d. What the clocks' interrupts and their programs cost is all in it; reading the samples is not, and the programs at the scheduler's switches are there " +
	"without samples, too, at 25 ns a switch."

// roundsEach is how many rounds a load runs before it is connected anew, so that what a connection is given by chance does not stand for all.
const roundsEach = 15

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) (err error) {
	stacks, err := profile.Open([]int{wire.A.CPU, wire.B.CPU})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stacks.Close()) }()
	if err := rest(stacks); err != nil {
		return err
	}
	w, err := wire.Lay(ctx, wire.NIC, s.nice)
	if err != nil {
		return err
	}
	defer w.Remove()
	section := bench.Section{Title: "What sampling stacks costs", Says: fmt.Sprintf(says, s.window, s.rounds, s.most, roundsEach), Peers: "itself without samples"}
	for _, l := range loads {
		c := &bench.Comparison{What: l.name + ", sampled / not sampled", Goal: bench.Goal{Ratio: left}}
		for !s.enough(c) {
			if err := s.some(ctx, w, l, stacks, c, stderr); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
		fmt.Fprintln(stdout, c.Row())
		fmt.Fprint(stdout, bound(c))
		section.Comparisons = append(section.Comparisons, c)
		section.Where += bound(c)
	}
	if s.results == "" {
		return nil
	}
	return section.Write(s.results)
}

// rest stops the clocks, which ring from the beginning until their first window's end.
func rest(stacks *profile.Sampler) error {
	if err := stacks.Start(); err != nil {
		return err
	}
	window, err := stacks.Stop()
	_, taken := stacks.Take(window)
	return errors.Join(err, taken)
}

// enough is the rule by which rounds end.
func (s settings) enough(c *bench.Comparison) bool {
	n := len(c.Ours)
	return n >= s.most || n >= s.rounds && bench.Decided([]*bench.Comparison{c})
}

// some are the rounds of one connection.
func (s settings) some(ctx context.Context, w *wire.Wire, l load, stacks sampler, c *bench.Comparison, stderr io.Writer) error {
	lasts := roundsEach * windowsEach * (s.window + settles + time.Second/10) // which counting and reading do not take
	return w.Steady(ctx, lasts, l.kind, l.options, func(ctx context.Context) error {
		r := rounds{window: s.window, sampler: stacks, received: wire.Received, of: l.of, wait: func(d time.Duration) error { return wire.Wait(ctx, d) }}
		return wire.B.Inside(s.nice, func() error {
			for i := 0; i < roundsEach && !s.enough(c); i++ {
				with, without, err := r.measure(order())
				if err != nil {
					return err
				}
				c.Add(with, without)
				fmt.Fprintf(stderr, "%s, round %d: %.4g sampled, %.4g not: %.4f; all %s\n", l.name, len(c.Ours), with, without, with/without, c.Row())
			}
			return nil
		})
	})
}

// bound says what sampling takes at most, and at least.
func bound(c *bench.Comparison) string {
	e := c.Estimate()
	if !e.Bounded() {
		return ""
	}
	return fmt.Sprintf("- %s: sampling takes %.2f %%, and at most %.2f %% (at least %.2f %%; an interval of 95 %%).\n", c.What, 100*(1-e.Estimate), 100*(1-*e.Low), 100*(1-*e.High))
}
