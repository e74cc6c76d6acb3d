package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"windtunnel/agent"
)

// placeFlags are of the agent of a place that runs already.
type placeFlags struct {
	name    string
	brought broughtFlags
}

// broughtFlags are of an agent whose program was brought for it.
type broughtFlags struct{ remove, sum string }

func agentCommand(s streams) *cobra.Command {
	var n nodeFlags
	var cpus string
	var place placeFlags
	var brought broughtFlags
	var worker, guest, container bool
	c := &cobra.Command{
		Use:   "agent",
		Short: "What a node or an endpoint runs: speaks newline-delimited JSON over stdin and stdout",
		Long: "A node agent (--node) builds its part of testbeds, starts workers and samples the node; an\n" +
			"endpoint worker (--worker) runs traffic; the agent of a place that runs already (--place) builds\n" +
			"nothing, runs workers and reads counters. All greet first and end when their input does.\n" +
			"The messages are described in agent/proto/PROTOCOL.md and can be typed by hand.",
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			// The conductor decides when agents end, by closing their input: a Ctrl-C
			// that reaches the whole terminal must not take the testbed from under it,
			// nor a terminal that closes, nor an answer that nobody reads any more.
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
			place.brought, n.brought = brought, brought
			if place.name != "" {
				return ended(servePlace(c.Context(), s, place))
			}
			var list []int
			if cpus != "" {
				var err error
				if list, err = parseCPUs(cpus); err != nil {
					return refused(err)
				}
			}
			if guest {
				return ended(serveGuest(c.Context(), s, worker, container))
			}
			if worker {
				return ended(agent.ServeWorker(c.Context(), s.in, s.out, release, list))
			}
			if n.name == "" || (n.dir == "") == (n.lease == "") || n.lease == "" && len(list) == 0 {
				return refused(fmt.Errorf("say --worker, --node NAME with --dir DIR and --cpus LIST, --node NAME with --lease WHAT on a host of its own, or --place NAME"))
			}
			n.cpus = list
			return ended(serveNode(c.Context(), s, n))
		},
	}
	c.Flags().StringVar(&n.name, "node", "", "be the agent of this node")
	c.Flags().BoolVar(&worker, "worker", false, "be an endpoint's worker")
	c.Flags().BoolVar(&guest, "guest", false, "be the first process of a virtual machine; with --worker, be its worker")
	c.Flags().BoolVar(&container, "container", false, "with --guest: workers are in a container of the machine's, a network stack of its own")
	c.Flags().StringVar(&cpus, "cpus", "", "the CPUs that do the node's work (0,1); a worker without them runs on any")
	c.Flags().StringVar(&n.dir, "dir", "", "the node's folder of the lease")
	c.Flags().StringVar(&n.lease, "lease", "", "be a real host's node: take the host for this work, as a run on simulated nodes does, and all CPUs that --cpus leaves")
	c.Flags().StringArrayVar(&n.data, "data", nil, "the address of the host's interface for data; once for each, where several links join the nodes")
	c.Flags().StringArrayVar(&n.toward, "toward", nil, "the other node's data address; once for each, in the same order")
	c.Flags().BoolVar(&n.copied, "copied", false, "this program was brought here: remove its folder at the end")
	c.Flags().StringVar(&place.name, "place", "", "be the agent of a place that runs already, in which nothing is built or changed")
	c.Flags().StringVar(&brought.remove, "remove", "", "with --place, and on Windows and macOS: the folder in which this program was brought, which it removes")
	c.Flags().StringVar(&brought.sum, "sum", "", "with --remove: the SHA-256 that this program must have")
	return c
}

// nodeFlags are what a node's agent is started with.
type nodeFlags struct {
	name, dir    string
	cpus         []int
	lease        string
	data, toward []string
	copied       bool
	brought      broughtFlags
}

// controlled are the addresses of a host's node: of its data by one interface, and the ends of its control connection. The zero
// address is none.
type controlled struct{ address, toward, far, near netip.Addr }

// waysOf reads by which interfaces data goes: those named, else those that lead to the other node's, at least one. Connection is the
// control connection's ends as sshd tells them: the client's address and port, and this host's (ssh(1), SSH_CONNECTION).
func waysOf(n nodeFlags, connection string) ([]controlled, error) {
	count := len(n.data)
	if count == 0 {
		count = max(1, len(n.toward))
	}
	control, err := controlOf(connection)
	ways := slices.Repeat([]controlled{control}, count)
	for i := range ways {
		for _, to := range []struct {
			flag string
			all  []string
			at   *netip.Addr
		}{{"--data", n.data, &ways[i].address}, {"--toward", n.toward, &ways[i].toward}} {
			if i >= len(to.all) {
				continue
			}
			var wrong error
			if *to.at, wrong = netip.ParseAddr(to.all[i]); wrong != nil {
				return nil, fmt.Errorf("%s %q is no IP address", to.flag, to.all[i])
			}
		}
	}
	return ways, err
}

func controlOf(connection string) (way controlled, err error) {
	if ends := strings.Fields(connection); len(ends) == 4 {
		far, err1 := netip.ParseAddr(ends[0])
		near, err2 := netip.ParseAddr(ends[2])
		if err := errors.Join(err1, err2); err != nil {
			return way, fmt.Errorf("reading SSH_CONNECTION: %w", err)
		}
		way.far, way.near = far.Unmap().WithZone(""), near.Unmap().WithZone("")
	}
	return way, nil
}

// ended is how a command that began ends: an error is its failure, unless it knows its code.
func ended(err error) error {
	if err == nil || errors.As(err, new(coded)) {
		return err
	}
	return failed(err)
}

func parseCPUs(text string) ([]int, error) {
	var cpus []int
	for word := range strings.SplitSeq(text, ",") {
		cpu, err := strconv.Atoi(word)
		if err != nil || cpu < 0 || cpu > 8191 {
			return nil, fmt.Errorf("--cpus %q is no list of CPUs; write 0,1", text)
		}
		cpus = append(cpus, cpu)
	}
	return cpus, nil
}
