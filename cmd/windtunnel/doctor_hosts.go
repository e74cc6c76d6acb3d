//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/agent/ssh"
	"windtunnel/run"
	"windtunnel/scenario"
	"windtunnel/testbed"
)

// doctorHosts says what each of the hosts can do, and whether they meet what a suite wants of its nodes.
// It reaches them as a run does, takes nothing, and leaves nothing.
func doctorHosts(ctx context.Context, s streams, nodes string, suite []string) (err error) {
	hosts, err := ssh.Parse(nodes)
	if err != nil {
		return refused(fmt.Errorf("--nodes: %w", err))
	}
	var spec *scenario.Spec
	if len(suite) > 0 {
		loaded, err := loadSuite(suite[0])
		if err != nil {
			return err
		}
		spec = &loaded
	}
	all, err := reach(ctx, hosts, everything(), "doctor")
	defer func() {
		if closed := all.close(); closed != nil {
			err = failed(errors.Join(err, closed))
		}
	}()
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, r := range all {
		if len(r.found.CPUs) > 0 {
			describeHost(table, r)
		}
	}
	if err := errors.Join(err, table.Flush()); err != nil {
		return failed(err)
	}
	if spec == nil {
		return nil
	}
	return compareHosts(s.out, all, *spec)
}

func describeHost(table io.Writer, r *remote) {
	f := r.found
	fmt.Fprintf(table, "node %s\t%s\n", r.host.Node, r.host)
	if f.System != "" {
		fmt.Fprintf(table, "  system\t%s\n", f.System)
	} else {
		fmt.Fprintf(table, "  kernel\t%s\n", f.Kernel)
	}
	fmt.Fprintf(table, "  CPUs\t%d usable %v\n", len(f.CPUs), f.CPUs)
	fmt.Fprintf(table, "  memory\t%d MiB\n", f.MemoryBytes>>20)
	if f.NIC == nil {
		fmt.Fprintf(table, "  data\tnone\t%s\n", f.NoNIC)
	} else {
		driver := ""
		if f.NIC.Driver != "" {
			driver = ", driver " + f.NIC.Driver
		}
		fmt.Fprintf(table, "  data\t%s\t%s%s, %s, MTU %d\n", f.NIC.Device, f.NIC.Address, driver, speed(f.NIC.BitsPerSecond), f.NIC.MTU)
		if f.NIC.Fixed != "" {
			fmt.Fprintf(table, "  \tin use\t%s\n", f.NIC.Fixed)
		}
	}
	if f.System != "" {
		fmt.Fprintf(table, "  cells\traw\tprocesses on the path wire, and existing (`windtunnel between`): testbeds are made of Linux\n")
		return
	}
	describeEngine(table, f)
	for _, feature := range testbed.Features {
		state := "works"
		if f.Missing[feature] != "" {
			state = "missing"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", feature, state, f.Missing[feature])
	}
	for _, tool := range append(tools, foreign()...) {
		if why, asked := f.Programs[tool.name]; asked {
			fmt.Fprintf(table, "  %s\tmissing\tfor %s: %s\n", tool.name, tool.needs, firstLine(why))
		}
	}
}

// describeEngine says which container engine cells of Docker's paths use.
func describeEngine(table io.Writer, f proto.Host) {
	if f.Engine == nil {
		fmt.Fprintf(table, "  engine\tnone\t%s\n", firstLine(f.NoEngine))
		return
	}
	mtu := ""
	if f.Engine.MTU > 0 {
		mtu = fmt.Sprintf(", default bridge of MTU %d", f.Engine.MTU)
	}
	fmt.Fprintf(table, "  engine\t%s\t%s, userland proxy %s%s\n", f.Engine.Socket, f.Engine.Version, f.Engine.Proxy, mtu)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func speed(bitsPerSecond float64) string {
	if bitsPerSecond == 0 {
		return "of a speed that it does not say"
	}
	return fmt.Sprintf("%g Gbit/s", bitsPerSecond/1e9)
}

// compareHosts tells what a suite asks of its nodes, or what its source's had, beside what these have;
// then which of its cells run on them.
func compareHosts(out io.Writer, all remotes, spec scenario.Spec) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nsuite %s\n", spec.Suite)
	mtu := 0
	for _, cell := range spec.Cells {
		mtu = max(mtu, cell.Wire.MTU)
	}
	for _, r := range all {
		i := slices.IndexFunc(spec.Nodes, func(n scenario.Node) bool { return n.Name == r.host.Node })
		if i < 0 {
			continue // the plan says so
		}
		needs, had := spec.Nodes[i].Requires, spec.Assumed
		row := func(what, has string, meets bool, wants string) {
			if wants != "" {
				fmt.Fprintf(table, "  node %s\t%s %s\t%s\t%s\n", r.host.Node, what, has, map[bool]string{true: "meets", false: "differs from"}[meets], wants)
			}
		}
		row("CPUs", fmt.Sprint(len(r.found.CPUs)), len(r.found.CPUs) >= max(needs.CPUs, had.CPUs), number(max(needs.CPUs, had.CPUs), ""))
		memory := max(needs.MemoryBytes, had.MemoryBytes)
		row("memory", fmt.Sprintf("%d MiB", r.found.MemoryBytes>>20), r.found.MemoryBytes >= memory*9/10, number(int(memory>>20), " MiB"))
		if nic := r.found.NIC; nic != nil {
			wants := ""
			if had.LinkBitsPerSecond > 0 {
				wants = speed(had.LinkBitsPerSecond)
			}
			row("link", speed(nic.BitsPerSecond), nic.BitsPerSecond >= had.LinkBitsPerSecond, wants)
			row("MTU", fmt.Sprintf("%d", nic.MTU), nic.MTU >= mtu, fmt.Sprintf("%d, which a run sets and puts back", mtu))
		}
	}
	plan, err := all.plan(spec, run.Settings{Budget: 3 * time.Minute, Precision: 0.05, Seed: 1})
	for _, cell := range plan.Cells {
		fmt.Fprintf(table, "  cell %s\t%s\t%s\n", cell.Record.Name, map[bool]string{true: "runs", false: "not measured there"}[cell.Record.Skipped == ""], cell.Record.Skipped)
	}
	return errors.Join(table.Flush(), err)
}

// number is one with its unit, "" for 0.
func number(n int, unit string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n) + unit
}
