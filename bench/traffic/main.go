// Command traffic compares the loads stream, datagram, ping and frame with other tools
// on the same wire between two simulated nodes, in turn, and writes its section of
// bench/RESULTS.md, one for each processor.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"windtunnel/bench"
	"windtunnel/bench/peers"
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
	flags.IntVar(&s.rounds, "rounds", 7, "at least so many rounds a setup")
	flags.IntVar(&s.most, "most", 25, "at most so many, while a verdict is open")
	flags.DurationVar(&s.window, "window", 2*time.Second, "the measured window of a trial")
	flags.StringVar(&s.only, "only", "", "only `setups` that have this in their names; the results are then not written")
	flags.IntVar(&s.nice, "nice", 0, "the priority of all tools; -20 where other programs use the machine")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if s.rounds < 1 {
		fmt.Fprintf(stderr, "bench-traffic: %d rounds measure nothing: -rounds is 1 at least\n", s.rounds)
		return 2
	}
	return bench.Command("bench-traffic", stderr, func(ctx context.Context) error { return compare(ctx, s, stdout, stderr) })
}

// says is how the section was measured.
const says = "Between two network namespaces, a CPU each; all tools send messages of the same size, TCP with cubic. " +
	"Rates of streams are the payload by the receiving socket's TCP_INFO; CPU time is all that both nodes' CPUs did, by their idle clocks. " +
	"Datagrams are those that the receiver's sockets got: for peers by the kernel (UDP's InDatagrams; for a peer that takes aggregates, by the bytes that came up to its IP layer and the share of the aggregates that its socket had room for), " +
	"for ours by the numbers in them, checked against what the kernel saw, with only headers verified, as peers do. " +
	"Without segmentation offload every datagram leaves by itself; a receiver that takes aggregates (UDP_GRO), as ours does, may. Ours tries in the warm-up whether more comes where it polls (the option poll: auto, which one-off use has), and polls in the window where more does; sockperf's own (--nonblocked) got less than half of what it gets as it is, and the others have none. Transactions are the requests that the responder's sockets got, of 1 byte (sockperf: 14, its least), one after the other, in blocking calls. " +
	"Frames are of 64 bytes with FCS, counted by the sink; the bare loop redirects one constant frame in XDP live-frame mode into a program that drops and counts. " +
	"The windows are %s long. A trial in which other programs used more than %.0f %% of the CPUs is repeated, as is one in which, right before its window or right after it, " +
	"a line of cache took more than %d times as long from one CPU to the other as usual: then a hypervisor has moved them apart. Where they stay so for %s, that is usual from then on, and a round some of whose trials were before it is left out, as one of two machines, unless there were as many of those already as rounds may be; the last table has what a line took."

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	tools, err := peers.Find(ctx)
	if err != nil {
		return err
	}
	section := bench.Section{
		Title: "traffic and its peers on " + bench.Processor(),
		Says:  fmt.Sprintf(says, s.window, 100*wire.Disturbed, wire.Apart, wire.NearPatience),
		Peers: peers.Names(tools),
	}
	section.Where = linesHead
	for _, setup := range setups {
		if !strings.Contains(setup.name, s.only) {
			continue
		}
		t, err := setup.compare(ctx, s, tools, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", setup.name, err)
		}
		rows := t.rows()
		for _, c := range rows {
			fmt.Fprintln(stdout, c.Row())
		}
		section.Comparisons = append(section.Comparisons, rows...)
		section.Where += lines(setup.name, t)
	}
	if len(section.Comparisons) == 0 {
		return fmt.Errorf("no setup's name has %q in it", s.only)
	}
	if s.results == "" || s.only != "" {
		return nil
	}
	return section.Write(s.results)
}

// compare lets ours and the peers that can do the work run in turn.
func (setup setup) compare(ctx context.Context, s settings, tools []peers.Tool, stderr io.Writer) (*table, error) {
	w, err := wire.Lay(ctx, setup.wire, s.nice)
	if err != nil {
		return nil, err
	}
	defer w.Remove()
	programs := setup.programs(s, tools)
	if len(programs) == 1 {
		return nil, errors.New("no peer is here that can do it")
	}
	t := newTable(setup, programs[1:])
	for round := 0; round < s.rounds || round < s.most && !bench.Decided(t.rows()); {
		in := t.running()
		samples, err := w.Round(ctx, round+t.moved, choose(programs, in))
		if err != nil {
			return nil, err
		}
		for i, sample := range samples {
			fmt.Fprintf(stderr, "%s, round %d: %s %.0f/s; %s\n", setup.name, round+1, programs[in[i]].Name, sample.PerSecond, sample)
		}
		if t.moved < s.most && wire.Moved(samples) {
			t.moved++
			fmt.Fprintf(stderr, "%s, round %d: the CPUs were moved meanwhile, so it is made again\n", setup.name, round+1)
			continue
		}
		round++
		t.add(in, samples)
	}
	return t, nil
}

const linesHead = "What a line of cache took from one CPU to the other at the trials that count, in ns, and how many rounds were left out, as the CPUs were moved:\n\n" +
	"| setup | median | least | most | left out |\n|---|---|---|---|---|\n"

// lines is a row of how far the CPUs were from each other at a setup's trials.
func lines(setup string, t *table) string {
	sorted := slices.Sorted(slices.Values(t.far))
	return fmt.Sprintf("| %s | %d | %d | %d | %d |\n", setup, sorted[(len(sorted)-1)/2].Nanoseconds(), sorted[0].Nanoseconds(), sorted[len(sorted)-1].Nanoseconds(), t.moved)
}

func choose(programs []wire.Program, in []int) (chosen []wire.Program) {
	for _, i := range in {
		chosen = append(chosen, programs[i])
	}
	return chosen
}

// table is all figures of one setup.
type table struct {
	figures []figure
	peers   int
	far     []time.Duration // what a line of cache took at each trial
	moved   int             // rounds that were of two machines, and do not count
}

func newTable(s setup, peers []wire.Program) *table {
	var names []string
	for _, p := range peers {
		names = append(names, p.Name)
	}
	return &table{figures: s.figures(names), peers: len(peers)}
}

// running are the programs of the next round: ours, 0, and the peers that some figure
// still needs.
func (t *table) running() []int {
	in := []int{0}
	for peer := range t.peers {
		for _, f := range t.figures {
			if !f.Hopeless(peer) {
				in = append(in, peer+1)
				break
			}
		}
	}
	return in
}

// add takes a round's samples of the programs that were in it.
func (t *table) add(in []int, samples []wire.Sample) {
	for _, sample := range samples {
		t.far = append(t.far, sample.Far)
	}
	for _, f := range t.figures {
		values := make([]float64, t.peers)
		for i, program := range in[1:] {
			values[program-1] = f.of(samples[i+1])
		}
		f.Add(f.of(samples[0]), values)
	}
}

func (t *table) rows() (all []*bench.Comparison) {
	for _, f := range t.figures {
		for _, row := range f.Rows() {
			row.Limit = f.limit
			all = append(all, row)
		}
	}
	return all
}
