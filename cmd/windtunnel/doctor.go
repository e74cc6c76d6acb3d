//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/run"
	"windtunnel/testbed"
	"windtunnel/testbed/vm"
)

// tool is a program that something of ours starts or compares with.
type tool struct{ name, needs, install string }

// toolsOn are those of a machine of an architecture; "": this one's.
func toolsOn(architecture string) []tool {
	emulator := datapath.QEMU(architecture)
	return []tool{
		{"vrouter", "the path vrouter", "build it with make; it lies beside windtunnel"},
		{"vrouter-poll", "the path vrouter in mode poll", "build it with make poll; it lies beside windtunnel"},
		{"frame-poll", "raw frames at ports of poll mode", "build it with make poll; it lies beside windtunnel"},
		{emulator.Name, "virtual machines as endpoints", emulator.Install},
		{vm.Passt, "the path user-network by passt", "apt-get install passt"},
		{"iperf3", "the generator iperf3, and make test and make bench", "apt-get install iperf3"},
		{"ntttcp", "the generator ntttcp", "build github.com/microsoft/ntttcp-for-linux and put it into a folder of PATH"},
		{"nuttcp", "the generator nuttcp, and make bench", "apt-get install nuttcp"},
		{"sockperf", "the generator sockperf, and make bench", "apt-get install sockperf"},
		{"pktgen", "the generator pktgen of raw frames", "build Pktgen-DPDK (github.com/pktgen/Pktgen-DPDK) with the installed DPDK and put it into a folder of PATH"},
		{"_t-rex-64", "the generator trex of raw frames", "unpack a release of TRex (github.com/cisco-system-traffic-generator/trex-core) and put a link to its program _t-rex-64 into a folder of PATH"},
		{"tshark", "make test", "apt-get install tshark"},
		{"wine64", "make test of the Windows binary", "apt-get install wine64"},
		{"clang-19", "make check and make generate", "apt-get install clang-19 llvm-19 libbpf-dev"},
	}
}

// foreign are the programs that paths run and that others make, each once.
func foreign() []tool {
	var all []tool
	for _, path := range paths.All() {
		for _, p := range datapath.Programs(path) {
			i := slices.IndexFunc(all, func(t tool) bool { return t.name == p.Name })
			if i < 0 {
				all = append(all, tool{p.Name, "the path " + path.Name(), p.Install})
			} else {
				all[i].needs += ", the path " + path.Name()
			}
		}
	}
	return all
}

func doctorCommand(s streams) *cobra.Command {
	var nodes string
	c := &cobra.Command{
		Use:   "doctor [SUITE --nodes LIST]",
		Short: "Say what this machine can do, and what to install for the rest; with --nodes, what other hosts can",
		Example: "  windtunnel doctor\n" +
			"  windtunnel doctor contrail-windows --nodes a=ssh://root@h1?data=10.0.0.1,b=ssh://root@h2?data=10.0.0.2",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if nodes != "" {
				return doctorHosts(c.Context(), s, nodes, args)
			}
			if len(args) > 0 {
				return refused(errors.New("a suite is compared with other hosts: name them with --nodes, or see `windtunnel plan` for what runs here"))
			}
			host, err := run.LocalHost()
			if err != nil {
				return failed(err)
			}
			table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
			fmt.Fprintf(table, "kernel\t%s\n", host.Kernel)
			fmt.Fprintf(table, "CPUs\t%d usable %v\n", len(host.CPUs), host.CPUs)
			fmt.Fprintf(table, "memory\t%d MiB\n", host.MemoryBytes>>20)
			if os.Geteuid() == 0 {
				fmt.Fprintf(table, "root\tyes\n")
			} else {
				fmt.Fprintf(table, "root\tno\trun it with sudo: testbeds need it, and the features below cannot be tried without\n")
			}
			missing, err := tried(c.Context())
			if err != nil {
				return err
			}
			for _, feature := range testbed.Features {
				state, says := featureRow(feature, missing[feature])
				fmt.Fprintf(table, "%s\t%s\t%s\n", feature, state, says)
			}
			for _, tool := range append(toolsOn(""), foreign()...) {
				fmt.Fprintf(table, "%s\t%s\t%s\n", tool.name, found(tool.name), wanted(tool.name, tool.needs, tool.install))
			}
			return ended(table.Flush())
		},
	}
	c.Flags().StringVar(&nodes, "nodes", "", "look at these hosts, as run reaches them: a=ssh://root@h1?data=10.0.0.1,...")
	return c
}

// featureRow is what is said of a feature, given why it is missing: what is done without it, too, where that is another thing.
func featureRow(feature, missing string) (state, says string) {
	switch {
	case feature == testbed.FeatureBonding && missing == "":
		return "works", "the links of a team are joined by a bond, unless its path says `by: route`"
	case feature == testbed.FeatureBonding:
		return "missing", missing + "; the links of a team are joined by a route, unless its path says `by: bond`"
	case missing == "":
		return "works", ""
	}
	return "missing", missing
}

// found says whether a program is beside this one or on PATH.
func found(program string) string {
	if own, err := os.Executable(); err == nil {
		if _, err := os.Stat(filepath.Join(filepath.Dir(own), program)); err == nil {
			return "found"
		}
	}
	for _, place := range []string{program, filepath.Join("/usr/lib/wine", program)} { // Debian keeps wine64 off the PATH
		if _, err := exec.LookPath(place); err == nil {
			return "found"
		}
	}
	return "missing"
}

func wanted(program, needs, install string) string {
	if found(program) == "found" {
		return ""
	}
	return "for " + needs + ": " + install
}
