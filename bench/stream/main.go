// Command stream compares the stream engine with other TCP tools on the same wire
// between two simulated nodes, in turn, and writes its section of
// bench/RESULTS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"windtunnel/bench"
	"windtunnel/bench/wire"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// settings are the command's flags.
type settings struct {
	results string
	rounds  int
	most    int
	window  time.Duration
	only    string
	nice    int
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == wire.WorkerCommand {
		return wire.RunWorker(stdin, stdout, stderr)
	}
	var s settings
	flags := flag.NewFlagSet("stream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.results, "results", "bench/RESULTS.md", "the `file` whose section is written; empty: none")
	flags.IntVar(&s.rounds, "pairs", 7, "at least so many rounds a comparison")
	flags.IntVar(&s.most, "most", 25, "at most so many, while a verdict is open")
	flags.DurationVar(&s.window, "window", 2*time.Second, "the measured window of a trial")
	flags.StringVar(&s.only, "only", "", "one `setup` only, by a part of its name")
	flags.IntVar(&s.nice, "nice", 0, "the priority of all tools and the wire's NAPI threads; -20 where other programs use the machine")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, s, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench-stream:", err)
		return 1
	}
	return 0
}

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	peers, err := findPeers(ctx)
	if err != nil {
		return err
	}
	section := bench.Section{
		Title: "stream and its peers",
		Says: fmt.Sprintf("One cubic TCP stream between two network namespaces, a CPU each; all tools write messages of the same size. Rate and CPU time "+
			"are of the same %s of each trial, from the receiving socket's TCP_INFO and the CPUs' idle clocks; CPU time is all that the node's CPU did, per byte received. "+
			"A trial in which other programs used more than %.0f %% of the CPUs is repeated.", s.window, 100*wire.Disturbed),
		Peers: names(peers),
	}
	for _, setup := range setups {
		if !strings.Contains(setup.name, s.only) {
			continue
		}
		rows, err := compareRounds(ctx, s, setup, peers, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", setup.name, err)
		}
		for _, c := range rows {
			fmt.Fprintln(stdout, c.Row())
		}
		section.Comparisons = append(section.Comparisons, rows...)
	}
	if s.results == "" {
		return nil
	}
	return section.Write(s.results)
}

// compareRounds lets ours and the peers that can do the setup run in turn.
func compareRounds(ctx context.Context, s settings, setup setup, peers []peer, stderr io.Writer) ([]*bench.Comparison, error) {
	w, err := wire.Lay(ctx, setup.wire, s.nice)
	if err != nil {
		return nil, err
	}
	defer w.Remove()
	programs := []wire.Program{ours(s, setup)}
	for _, p := range peers {
		if trial, able := p.program(s, setup); able {
			programs = append(programs, trial)
		}
	}
	t := newTable(setup, programs[1:])
	for round := 0; round < s.rounds || round < s.most && !bench.Decided(t.rows()); round++ {
		samples, err := w.Round(ctx, round, programs)
		if err != nil {
			return nil, err
		}
		t.add(samples[0], samples[1:])
		for i, sample := range samples {
			fmt.Fprintf(stderr, "%s, round %d: %s %s\n", setup.name, round+1, programs[i].Name, sample)
		}
	}
	return t.rows(), nil
}
