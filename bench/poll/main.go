// Command poll compares the vRouter's poll mode with DPDK's testpmd and with Open vSwitch on DPDK, and with itself:
// with and without an overlay, with many routes and with many flows. All of them are between two vhost-user sockets,
// whose other sides are one small sender and counter (load/). It writes its section of bench/RESULTS.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"windtunnel/agent"
	"windtunnel/bench"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// settings are the command's flags.
type settings struct {
	results string
	budget  time.Duration
	rounds  int
	most    int
	window  time.Duration
	routes  int
	bin     string
	kernel  time.Duration
	against string
	only    string
}

func run(args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("poll", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.results, "results", "bench/RESULTS.md", "the `file` whose section is written; empty: none")
	flags.DurationVar(&s.budget, "budget", 6*time.Minute, "for more rounds while a verdict is open; the least rounds are done all the same")
	flags.IntVar(&s.rounds, "rounds", 15, "at least so many rounds")
	flags.IntVar(&s.most, "most", 100, "at most so many, while a verdict is open")
	flags.DurationVar(&s.window, "window", 200*time.Millisecond, "the measured window of a trial")
	flags.IntVar(&s.routes, "routes", 1_000_000, "routes of the vRouter that has many")
	flags.StringVar(&s.bin, "bin", "bin", "the `folder` of the built programs")
	flags.DurationVar(&s.kernel, "kernel", time.Minute, "besides, for the comparison with kernel mode")
	flags.StringVar(&s.against, "against", "", "the `folder` of another build, whose poll mode is measured beside this one's; the results are then not written")
	flags.StringVar(&s.only, "only", "", "`names` of data planes, by commas; empty: all. Else the results are not written")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if s.routes < fewRoutes || s.routes > mostRoutes || s.rounds < 1 || s.window < 100*time.Millisecond {
		fmt.Fprintf(stderr, "bench-poll: -routes is from %d to %d, -rounds at least 1, -window at least 100ms\n", fewRoutes, mostRoutes)
		return 2
	}
	return bench.Command("bench-poll", stderr, func(ctx context.Context) error { return compare(ctx, s, stdout, stderr) })
}

// leavesOut says why a data plane is not asked for.
func (s settings) leavesOut(name string) string {
	if name == otherName && s.against == "" {
		return "there is no other build"
	}
	if s.only == "" || slices.Contains(strings.Split(s.only, ","), name) {
		return ""
	}
	return "not asked for (-only)"
}

// measured is how the section was measured.
const measured = "Each data plane is between two vhost-user sockets, alone on a CPU that it polls on, with packets in huge pages; one process of DPDK " +
	"on the other CPU sends frames of 64 bytes with FCS into one socket, as many as are taken, and counts what comes out of the other. " +
	"Those that are not measured stand still. Packets per busy cycle are by each program's own count: of the vRouter and of Open vSwitch the cycles of rounds over " +
	"all ports that found packets, of testpmd those of bursts that were not empty, so that it alone leaves out the other port's empty ones. " +
	"Packets per second, beside them, are counted at the far socket, by one yardstick for all: the data plane's CPU is the limit. " +
	"With kernel mode poll mode is compared by a suite (kernel.yaml): one vRouter alone, frames at its port and at the far end of its fabric, in random blocks of trials; busy is what its CPU was. " +
	"Open vSwitch has its own settings, and puts whole frames into VXLAN; the vRouter routes. Windows are of %s."

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) (err error) {
	if s.bin, err = filepath.Abs(s.bin); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("it takes huge pages and makes network namespaces: run it as root")
	}
	for _, program := range []string{"vrouter", "vrouter-poll", loadName} {
		if _, err := os.Stat(filepath.Join(s.bin, program)); err != nil {
			return fmt.Errorf("%w: `make bench-poll` builds it, or name its folder with -bin", err)
		}
	}
	between, err := betweenSockets(ctx, s, stderr)
	if err != nil {
		return err
	}
	kernel, err := againstKernel(ctx, s, stderr)
	if err != nil {
		return err
	}
	rows, costs := append(between.rows, kernel...), between.costs
	section := bench.Section{Title: "vRouter's poll mode, testpmd and OVS-DPDK", Says: fmt.Sprintf(measured, s.window), Peers: between.versions, Comparisons: rows, More: []bench.Table{bench.Costs(costs)}, Where: between.where}
	for _, row := range append(rows, costs...) {
		fmt.Fprintln(stdout, row.Row())
	}
	if s.results == "" || s.only != "" || s.against != "" {
		return nil
	}
	return section.Write(s.results)
}

// measurement is what was found between vhost-user sockets.
type measurement struct {
	rows, costs     []*bench.Comparison
	versions, where string
}

// betweenSockets measures all that is there, if any of it is asked for.
func betweenSockets(ctx context.Context, s settings, stderr io.Writer) (m measurement, err error) {
	if s.only == kernelName {
		return m, nil
	}
	lease, err := agent.Acquire(agent.Root, "bench-poll")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	if err := allowPages(lease, pagesFolder, allMemory); err != nil {
		return m, err
	}
	b, err := newBed(ctx, lease.Dir, s, stderr)
	defer func() { err = errors.Join(err, b.remove()) }()
	if err != nil {
		return m, err
	}
	m.rows, m.costs, err = b.rounds(ctx, s, stderr)
	m.versions, m.where = b.versions(ctx), b.spent.text(b.cells)
	return m, err
}
