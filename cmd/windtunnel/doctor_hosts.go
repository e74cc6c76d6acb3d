//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"windtunnel/agent/proto"
	"windtunnel/agent/ssh"
	"windtunnel/datapath"
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
	needs := everything()
	if spec != nil { // also generators; what is wrong with the suite is said behind the hosts
		if its, err := rehearse(*spec, run.Settings{Precision: 0.05, Seed: 1}, hosts); err == nil {
			needs.others = append(needs.others, its.others...)
		}
	}
	all, err := reach(ctx, hosts, needs, "doctor")
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
	if some := all.unequal(); len(some) > 0 {
		fmt.Fprintf(s.out, "\nnot on all of them: %s\n", strings.Join(some, ", "))
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
		for _, nic := range dataNICs(f) {
			describeNIC(table, nic)
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
	for _, tool := range append(toolsOn(r.system.Architecture), foreign()...) {
		if why := f.Unfit[tool.name]; why != "" {
			fmt.Fprintf(table, "  %s\tunfit\tfor %s: %s\n", tool.name, tool.needs, firstLine(why))
		} else if f.Programs[tool.name] != "" {
			fmt.Fprintf(table, "  %s\tmissing\tfor %s: %s\n", tool.name, tool.needs, tool.thereBy())
		}
	}
}

// describeQueues says how many receive queues an interface has, how many a cell may give it, and what spreads flows over CPUs.
func describeQueues(nic testbed.NIC) string {
	if nic.Queues <= 0 {
		return ""
	}
	text := fmt.Sprintf(", receive queues: %d", nic.Queues)
	if most := nic.Channels.MostToReceive(); nic.Channels == (testbed.Channels{}) {
		text += ", which its driver lets nobody set"
	} else if most > 1 {
		text += fmt.Sprintf(" of at most %d", most)
	}
	if nic.Steers {
		text += ", by destination, too (VMQ)"
	}
	if nic.Table > 0 {
		return text + ", flows spread by its driver"
	}
	return text + ", flows spread by the kernel (RPS)"
}

// unequal are the features and programs that some of the hosts lack and others have, each with who lacks it.
func (all remotes) unequal() (some []string) {
	lack := map[string][]string{} // by what: nodes
	linux := 0
	for _, r := range all {
		if r.found.System != "" || len(r.found.CPUs) == 0 {
			continue
		}
		linux++
		for _, missing := range []map[string]string{r.found.Missing, r.found.Programs, r.found.Unfit} {
			for what := range missing {
				if slices.Contains(emulators(), what) && what != datapath.QEMU(r.system.Architecture).Name {
					continue // it is another architecture's
				}
				lack[what] = append(lack[what], r.host.Node)
			}
		}
		if r.found.Engine == nil {
			lack["a container engine"] = append(lack["a container engine"], r.host.Node)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(lack)) {
		if nodes := lack[what]; len(nodes) < linux {
			some = append(some, fmt.Sprintf("%s (missing on %s)", what, strings.Join(nodes, " and ")))
		}
	}
	return some
}

// thereBy says how a host comes to have the program: ours are brought from beside this one.
func (t tool) thereBy() string {
	if !slices.Contains(pollPrograms, t.name) {
		return t.install
	}
	return "build it with make poll, on a machine of that architecture, beside the windtunnel that you start: it is brought from there"
}

// dataNICs are a host's interfaces for data.
func dataNICs(f proto.Host) []proto.NIC {
	if f.NIC == nil {
		return nil
	}
	return append([]proto.NIC{*f.NIC}, f.Members...)
}

func describeNIC(table io.Writer, nic proto.NIC) {
	driver := ""
	if nic.Driver != "" {
		driver = ", driver " + nic.Driver
	}
	fmt.Fprintf(table, "  data\t%s\t%s%s, %s, %s%s\n", nic.Device, nic.Address, driver, speed(nic.BitsPerSecond), describeMTU(nic.NIC), describeQueues(nic.NIC))
	if nic.Fixed != "" {
		fmt.Fprintf(table, "  \tin use\t%s\n", nic.Fixed)
	}
}

// describeMTU says what an interface's MTU is, and can be.
func describeMTU(nic testbed.NIC) string {
	if nic.MostMTU == 0 {
		return fmt.Sprintf("MTU %d", nic.MTU)
	}
	return fmt.Sprintf("MTU %d of at most %d", nic.MTU, nic.MostMTU)
}

// wantedMTU is a suite's largest, and whether a run can give it to an interface.
func wantedMTU(nic testbed.NIC, mtu int) string {
	if nic.MostMTU > 0 && mtu > nic.MostMTU {
		return fmt.Sprintf("%d, which its driver cannot set (at most %d)", mtu, nic.MostMTU)
	}
	return fmt.Sprintf("%d, which a run sets and puts back", mtu)
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
		for i, nic := range dataNICs(r.found) {
			at := ""
			if i > 0 {
				at = nic.Device + " "
			}
			wants := ""
			if had.LinkBitsPerSecond > 0 {
				wants = speed(had.LinkBitsPerSecond)
			}
			row("link", at+speed(nic.BitsPerSecond), nic.BitsPerSecond >= had.LinkBitsPerSecond, wants)
			row("MTU", fmt.Sprintf("%s%d", at, nic.MTU), nic.MTU >= mtu, wantedMTU(nic.NIC, mtu))
		}
	}
	plan, err := all.plan(spec, run.Settings{Precision: 0.05, Seed: 1})
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
