// Command vrouter compares the vRouter with a Linux bridge and with the kernel's
// VXLAN device, and with itself: more routes, and each of its switches. Its parts are
// cells of suites in random blocks, the same containers on the same wire, and vRouters
// that frames of its own are sprayed at. It writes its section of bench/RESULTS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"windtunnel/bench"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// settings are the command's flags.
type settings struct {
	results string
	only    string
	budget  time.Duration
	rounds  int
	most    int
	window  time.Duration
	routes  int
	flows   int
	bin     string
}

// part is what is measured together, in turn.
type part interface {
	name() string
	measure(ctx context.Context, s settings, stderr io.Writer) (outcome, error)
}

// outcome is a part's rows: those with a goal or a peer, and what switches cost.
type outcome struct{ rows, costs []*bench.Comparison }

func run(args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("vrouter", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.results, "results", "bench/RESULTS.md", "the `file` whose section is written; empty: none")
	flags.StringVar(&s.only, "only", "", "only `parts` that have this in their names; the results are then not written")
	flags.DurationVar(&s.budget, "budget", 75*time.Second, "of each part; sprayed frames have their least rounds all the same")
	flags.IntVar(&s.rounds, "rounds", 7, "at least so many rounds of sprayed frames")
	flags.IntVar(&s.most, "most", 15, "at most so many, while a verdict is open")
	flags.DurationVar(&s.window, "window", 1500*time.Millisecond, "the measured window of sprayed frames")
	flags.IntVar(&s.routes, "routes", 1_000_000, "routes of the large network")
	flags.IntVar(&s.flows, "flows", 1_000_000, "flows of the network that has many")
	flags.StringVar(&s.bin, "bin", "bin", "the `folder` of the built programs")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if min(s.routes, s.flows) < fewRoutes || max(s.routes, s.flows) > mostRoutes || s.rounds < 1 {
		fmt.Fprintf(stderr, "bench-vrouter: -routes and -flows are from %d to %d, -rounds at least 1\n", fewRoutes, mostRoutes)
		return 2
	}
	return bench.Command("bench-vrouter", stderr, func(ctx context.Context) error { return compare(ctx, s, stdout, stderr) })
}

// measured is how the section was measured.
const measured = "Containers on two simulated nodes, a CPU each. Streams are one of cubic TCP with 128 KiB messages; the CPU time is all that both nodes' CPUs did. " +
	"Frames of 64 bytes with FCS enter at full rate at one container's interface, and are counted at the other's. " +
	"Requests leave 1,000 times a second, and their time counts from when they were meant to leave. These are cells of suites and of bench/vrouter/*.yaml, in random blocks, with windows of " + short + ", but for requests of up to 3s. " +
	"The vRouter's best encapsulation is the one with the highest rate in these same rounds. " +
	"Of routes, and of flows, each frame is of a random one of all of a network's; for those, for the switches of single packets, for ECMP, for another network's routes, for bridging and for IPv6, XDP live frames are sprayed at the networks of one pair of vRouters at tc in turn, in windows of %s, over a wire whose ends look for packets every %s, as NICs that moderate their interrupts."

// bridgeFilter is there where frames on bridges pass netfilter's hooks: each new network namespace begins with it on
// (br_netfilter_sysctl_default in net/bridge/br_netfilter_hooks.c).
const bridgeFilter = "/proc/sys/net/bridge/bridge-nf-call-iptables"

// filtered says so of the bridge and of VXLAN, if it is so.
func filtered(switchFile string) string {
	if _, err := os.Stat(switchFile); err != nil {
		return ""
	}
	return " Frames on the bridge, and so VXLAN's, pass the hooks of br_netfilter, which this kernel has on in new network namespaces; LEARNED.md says what that is worth."
}

func compare(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	section := bench.Section{Title: "vRouter, bridge and kernel VXLAN", Says: fmt.Sprintf(measured, s.window, pause) + filtered(bridgeFilter), Peers: "the kernel's own bridge and vxlan"}
	chosen, costs := 0, []*bench.Comparison(nil)
	for _, p := range parts {
		if !strings.Contains(p.name(), s.only) {
			continue
		}
		chosen++
		found, err := p.measure(ctx, s, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
		for _, row := range append(found.rows, found.costs...) {
			fmt.Fprintln(stdout, row.Row())
		}
		section.Comparisons = append(section.Comparisons, found.rows...)
		costs = append(costs, found.costs...)
	}
	section.More = []bench.Table{bench.Costs(costs)}
	if chosen == 0 {
		var names []string
		for _, p := range parts {
			names = append(names, p.name())
		}
		return fmt.Errorf("no part's name has %q in it; there are: %s", s.only, strings.Join(names, "; "))
	}
	if s.results == "" || s.only != "" {
		return nil
	}
	return section.Write(s.results)
}
