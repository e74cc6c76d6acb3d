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
	"a line of cache took more than %d times as long from one CPU to the other as usual: then a hypervisor has moved them apart. Where they stay so for %s, trials go on: rounds in which they were apart throughout (by %d times, beside the nearest round up to then) have rows of their own, and a round amid which they were moved is left out, unless there were as many of those already as rounds may be; the last table has what a line took."

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	tools, err := peers.Find(ctx)
	if err != nil {
		return err
	}
	section := bench.Section{
		Title: "traffic and its peers on " + bench.Processor(),
		Says:  fmt.Sprintf(says, s.window, 100*wire.Disturbed, wire.Apart, wire.NearPatience, wire.OtherMachine),
		Peers: peers.Names(tools),
	}
	section.Where = linesHead
	var lies wire.Lies
	beside := bench.Table{Says: besides}
	for _, setup := range setups {
		if !strings.Contains(setup.name, s.only) {
			continue
		}
		r, err := setup.compare(ctx, s, tools, &lies, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", setup.name, err)
		}
		t, other := r.counts()
		section.Comparisons = append(section.Comparisons, show(stdout, "", t.rows())...)
		if other != nil {
			beside.Rows = append(beside.Rows, show(stdout, "in other rounds: ", other.measured())...)
		}
		section.Where += r.lines(setup.name)
	}
	section.More = []bench.Table{beside}
	if len(section.Comparisons) == 0 {
		return fmt.Errorf("no setup's name has %q in it", s.only)
	}
	if s.results == "" || s.only != "" {
		return nil
	}
	return section.Write(s.results)
}

// besides is what the rows of rounds are about that do not count for the goals.
const besides = "The same in the rounds in which the CPUs lay otherwise all the time (the last table says how), which is another machine"

func show(to io.Writer, before string, rows []*bench.Comparison) []*bench.Comparison {
	for _, c := range rows {
		fmt.Fprintln(to, before+c.Row())
	}
	return rows
}

// compare lets ours and the peers that can do the work run in turn.
func (setup setup) compare(ctx context.Context, s settings, tools []peers.Tool, lies *wire.Lies, stderr io.Writer) (*rounds, error) {
	w, err := wire.Lay(ctx, setup.wire, s.nice)
	if err != nil {
		return nil, err
	}
	defer w.Remove()
	programs := setup.programs(s, tools)
	if len(programs) == 1 {
		return nil, errors.New("no peer is here that can do it")
	}
	r := newRounds(s, func() *table { return newTable(setup, programs[1:]) })
	for r.goOn() {
		in := r.near.running()
		samples, err := w.Round(ctx, r.made(), choose(programs, in))
		if err != nil {
			return nil, err
		}
		lie, nearer := lies.Of(samples)
		for i, sample := range samples {
			fmt.Fprintf(stderr, "%s, round %d: %s %.0f/s; %s\n", setup.name, r.made()+1, programs[in[i]].Name, sample.PerSecond, sample)
		}
		if lie != wire.Near {
			fmt.Fprintf(stderr, "%s, round %d: %s\n", setup.name, r.made()+1, lie)
		}
		r.add(lie, nearer, in, samples)
	}
	return r, nil
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
	rounds  int
	far     []time.Duration // what a line of cache took at each trial
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
	t.rounds++
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
