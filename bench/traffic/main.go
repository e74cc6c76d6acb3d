// Command traffic compares the loads datagram, frame and ping with other tools on the
// same wire between two simulated nodes, in turn, and writes its section of
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
	flags := flag.NewFlagSet("traffic", flag.ContinueOnError)
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
		fmt.Fprintln(stderr, "bench-traffic:", err)
		return 1
	}
	return 0
}

// says is how the section was measured.
const says = "Between two network namespaces, a CPU each. The peer that counts is the best of the round, in each row by itself. " +
	"Datagrams are those that the receiver's sockets got in the window: for peers by the kernel (UDP's InDatagrams; for a peer that takes aggregates, by the bytes that came up to its IP layer, which flatters it), " +
	"for ours by the numbers in them, checked against what the kernel saw. Transactions are the requests that the responder's sockets got, of 1 byte (sockperf: 14, its least), one after the other, in blocking calls. " +
	"Frames are of 64 bytes with FCS, counted by the sink; the bare loop redirects one constant frame in XDP live-frame mode into a program that drops and counts. " +
	"The windows are %s long. A trial in which other programs used more than %.0f %% of the CPUs is repeated."

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	peers, err := findPeers(ctx)
	if err != nil {
		return err
	}
	section := bench.Section{
		Title: "datagram, frame, ping and their peers",
		Says:  fmt.Sprintf(says, s.window, 100*wire.Disturbed),
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
	if len(section.Comparisons) == 0 {
		return fmt.Errorf("no setup's name has %q in it", s.only)
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
	programs := append([]wire.Program{ours(s, setup)}, setup.peers(s, peers)...)
	if len(programs) == 1 {
		return nil, fmt.Errorf("no peer is here that can do it")
	}
	t := newTable(setup, programs[1:])
	for round := 0; t.pairs() < s.rounds || round < s.most && !bench.Decided(t.rows); round++ {
		if round >= max(s.most, 2*s.rounds) {
			return nil, fmt.Errorf("only %d of %d rounds were usable", t.pairs(), round)
		}
		samples, err := w.Round(ctx, round, programs)
		if err != nil {
			return nil, err
		}
		for i, sample := range samples {
			fmt.Fprintf(stderr, "%s, round %d: %s %.0f/s; %s\n", setup.name, round+1, programs[i].Name, sample.PerSecond, sample)
		}
		if !t.add(samples[0], samples[1:]) {
			fmt.Fprintf(stderr, "%s, round %d is left out: no peer got anything across\n", setup.name, round+1)
		}
	}
	return t.rows, nil
}
