// Command stream compares the stream engine with iperf3 on the same wire between
// two simulated nodes, in turn, and writes its section of bench/RESULTS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"windtunnel/bench"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// settings are the command's flags.
type settings struct {
	results string
	pairs   int
	most    int
	window  time.Duration
	only    string
	nice    int
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == workerCommand {
		return runWorker(args[1:], stdin, stdout, stderr)
	}
	var s settings
	flags := flag.NewFlagSet("stream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.results, "results", "bench/RESULTS.md", "the `file` whose section is written; empty: none")
	flags.IntVar(&s.pairs, "pairs", 7, "at least so many pairs a comparison")
	flags.IntVar(&s.most, "most", 25, "at most so many, while a verdict is open")
	flags.DurationVar(&s.window, "window", 2*time.Second, "the measured window of a trial")
	flags.StringVar(&s.only, "only", "", "one `setup` only, by a part of its name")
	flags.IntVar(&s.nice, "nice", 0, "the priority of both tools and the wire's NAPI threads; -20 where other programs use the machine")
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

// A trial in which other programs took more than this share of the CPUs (a quiet
// machine's own housekeeping and the probes take 3 %) is
// repeated, up to so many times in all.
const (
	disturbed      = 0.05
	disturbedTries = 4
)

// load is one testbed and load on which the two are compared.
type load struct {
	name    string
	wire    string // nic or memory
	message int    // bytes
	nodelay bool
}

var setups = []load{
	{"128 KiB messages, wire as NIC", wireNIC, 128 << 10, false},
	{"128 KiB messages, wire as memory", wireMemory, 128 << 10, false},
	{"1390 B no-delay messages, wire as NIC", wireNIC, 1390, true},
}

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	peer, err := peerVersion(ctx)
	if err != nil {
		return err
	}
	section := bench.Section{
		Title: "stream and " + peer,
		Says: fmt.Sprintf("One cubic TCP stream between two network namespaces, a CPU each; both tools write messages of the same size. Rate and CPU time "+
			"are of the same %s of each trial, from the receiving socket's TCP_INFO and the CPUs' idle clocks; CPU time is all that the node's CPU did, per byte received. "+
			"A trial in which other programs used more than %.0f %% of the CPUs is repeated.", s.window, 100*disturbed),
		Peers: peer,
	}
	for _, setup := range setups {
		if !matches(setup.name, s.only) {
			continue
		}
		rows, err := comparePairs(ctx, s, setup, stderr)
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

// comparePairs runs the tools in turn; who goes first alternates.
func comparePairs(ctx context.Context, s settings, setup load, stderr io.Writer) ([]*bench.Comparison, error) {
	w, err := layWire(ctx, setup.wire, s.nice)
	if err != nil {
		return nil, err
	}
	defer w.remove()
	rate := &bench.Comparison{What: "received rate, " + setup.name, Goal: bench.Goal{Ratio: 0.95}}
	rows := []*bench.Comparison{rate}
	for _, side := range []string{"the sender", "the receiver", "both nodes"} {
		rows = append(rows, &bench.Comparison{What: "CPU time per byte of " + side + ", " + setup.name, Goal: bench.Goal{Ratio: 1.05, AtMost: true}})
	}
	for pair := 0; pair < s.pairs || pair < s.most && !bench.Decided(rows); pair++ {
		figures, err := onePair(ctx, w, s, setup, pair%2 == 0)
		if err != nil {
			return nil, err
		}
		ours, peer := figures[0], figures[1]
		rate.Add(ours.rate(), peer.rate())
		rows[1].Add(ours.cost(true, false), peer.cost(true, false))
		rows[2].Add(ours.cost(false, true), peer.cost(false, true))
		rows[3].Add(ours.cost(true, true), peer.cost(true, true))
		fmt.Fprintf(stderr, "%s, pair %d: ours %s; iperf3 %s\n", setup.name, pair+1, ours, peer)
	}
	return rows, nil
}

// onePair returns ours and the peer's figures.
func onePair(ctx context.Context, w *wire, s settings, setup load, oursFirst bool) (figures [2]figure, err error) {
	tools := [2]func(context.Context, *wire, settings, load) (figure, error){runOurs, runPeer}
	order := [2]int{0, 1}
	if !oursFirst {
		order = [2]int{1, 0}
	}
	for _, i := range order {
		if figures[i], err = undisturbed(ctx, func() (figure, error) { return tools[i](ctx, w, s, setup) }); err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// undisturbed repeats a trial in which other programs used the CPUs, a few
// times, and returns the least disturbed one.
func undisturbed(ctx context.Context, trial func() (figure, error)) (best figure, err error) {
	for try := range disturbedTries {
		f, err := trial()
		if err != nil {
			return f, err
		}
		if try == 0 || f.foreign() < best.foreign() {
			best = f
		}
		if best.foreign() <= disturbed || ctx.Err() != nil {
			break
		}
	}
	return best, nil
}
