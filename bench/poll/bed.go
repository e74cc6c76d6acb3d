package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"windtunnel/bench"
)

// bed is all data planes, and what they are measured with.
type bed struct {
	dir     string
	devices []*device
	loader  *loader
	missing map[string]string // data planes that this machine has not, and why
	cells   []cell
	spent   spent
}

// allMemory is what they take of huge pages, in MiB.
const allMemory = 6*pollMemory + testpmdMemory + ovsMemory + loadMemory + 64

// newBed starts them, each with its CPU for itself, and then the sender. What they have of files is in the folder,
// which is the caller's.
func newBed(ctx context.Context, dir string, s settings, stderr io.Writer) (b *bed, err error) {
	b = &bed{dir: dir, missing: map[string]string{}, spent: spent{}}
	if b.cells, err = cells(s); err != nil {
		return b, err
	}
	fmt.Fprintf(stderr, "starting the data planes, one of them with %d routes\n", s.routes)
	for _, m := range []struct {
		name string
		make func() (*device, error)
	}{
		{fewName, func() (*device, error) { return newPoll(ctx, b.dir, s.bin, fewName, table{routes: fewRoutes}) }},
		{otherName, func() (*device, error) {
			return newPoll(ctx, b.dir, s.against, otherName, table{routes: fewRoutes})
		}},
		{manyName, func() (*device, error) { return newPoll(ctx, b.dir, s.bin, manyName, table{routes: s.routes}) }},
		{flowsName, func() (*device, error) { return newPoll(ctx, b.dir, s.bin, flowsName, table{flows: manyFlows}) }},
		{sumName, func() (*device, error) {
			return newPoll(ctx, b.dir, s.bin, sumName, table{routes: fewRoutes, sum: true})
		}},
		{handName, func() (*device, error) {
			return newPoll(ctx, b.dir, s.bin, handName, table{routes: fewRoutes, hands: true})
		}},
		{testpmdName, func() (*device, error) { return newTestpmd(ctx, b.dir) }},
		{ovsName, func() (*device, error) { return newOVS(ctx, b.dir) }},
	} {
		if why := s.leavesOut(m.name); why != "" {
			b.missing[m.name] = why
			continue
		}
		if why := lacks(m.name); why != "" {
			b.missing[m.name] = why
			continue
		}
		d, err := m.make()
		b.devices = append(b.devices, d)
		if err == nil {
			err = d.halt()
		}
		if err != nil {
			return b, fmt.Errorf("starting %s: %w", m.name, err)
		}
	}
	return b, b.connect(ctx, s)
}

// lacks says what a peer's programs need that is not here, or which CPUs.
func lacks(name string) string {
	if cpus := runtime.NumCPU(); name == handName && cpus <= secondCPU {
		return fmt.Sprintf("needs %d CPUs, one that sends and two that forward: this machine has %d", secondCPU+1, cpus)
	}
	for program, install := range map[string]map[string]string{
		testpmdName: {testpmdProgram: "dpdk-dev"},
		ovsName:     {vswitchd: "openvswitch-switch-dpdk", "ovs-vsctl": "openvswitch-switch", "ovsdb-server": "openvswitch-switch", "ovs-appctl": "openvswitch-common"},
	}[name] {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Sprintf("needs %s (Debian: apt-get install %s)", program, install)
		}
	}
	return ""
}

// connect starts the sender: all data planes run while it joins their sockets.
func (b *bed) connect(ctx context.Context, s settings) error {
	if err := b.each((*device).resume); err != nil {
		return err
	}
	var err error
	b.loader, err = startLoader(ctx, b.dir, filepath.Join(s.bin, loadName), b.devices)
	if err != nil {
		return err
	}
	time.Sleep(settle)
	if err := b.each((*device).halt); err != nil {
		return err
	}
	for _, c := range b.cells {
		if c.name == "many-flows" && b.of(c) != nil { // of n that are drawn at random, 5n draws leave out one in 148
			return b.begin(ctx, c, 5*manyFlows)
		}
	}
	return nil
}

// settle is how long data planes may take over a new port.
const settle = 500 * time.Millisecond

func (b *bed) each(do func(*device) error) (err error) {
	for _, d := range b.devices {
		err = errors.Join(err, do(d))
	}
	return err
}

// begin sends a cell's frames until there were so many.
func (b *bed) begin(ctx context.Context, c cell, frames float64) error {
	const window, most = time.Second, 120
	sent := 0.0
	for tries := 0; sent < frames; tries++ {
		s, err := b.loader.once(b.of(c), c.frames, window)
		if errors.Is(err, errDisturbed) && tries < most { // its frames went all the same
			err = nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("beginning the flows: %w", err)
		}
		sent += s.rate * window.Seconds()
	}
	return nil
}

// of is a cell's data plane, none if it is missing.
func (b *bed) of(c cell) *device {
	i := slices.IndexFunc(b.devices, func(d *device) bool { return d.name == c.device })
	if i < 0 {
		return nil
	}
	return b.devices[i]
}

// rounds are trials of all cells in turn, as long as a verdict is open.
func (b *bed) rounds(ctx context.Context, s settings, stderr io.Writer) (rows, costs []*bench.Comparison, err error) {
	goals, others := ratios(s)
	var all []compared
	var decide []*bench.Comparison
	for _, r := range append(goals, others...) {
		c := newCompared(r)
		all = append(all, c)
		if r.goal == 0 {
			costs = append(costs, c.cycles)
			continue
		}
		rows, decide = append(rows, c.cycles, c.rate), append(decide, c.cycles)
	}
	began := time.Now()
	for round := 0; round < s.rounds || round < s.most && time.Since(began) < s.budget && !bench.Decided(decide); round++ {
		samples, why, err := b.round(ctx, s, round, stderr)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range all {
			c.add(samples, why)
		}
	}
	for _, c := range all {
		c.end()
	}
	return rows, costs, nil
}

// round measures every cell once, another one first each time. why tells of those that cannot be.
func (b *bed) round(ctx context.Context, s settings, round int, stderr io.Writer) (samples map[string]sample, why map[string]string, err error) {
	samples, why = map[string]sample{}, map[string]string{}
	for i := range b.cells {
		c := b.cells[(i+round)%len(b.cells)]
		if why[c.name] = b.missing[c.device]; why[c.name] != "" {
			continue
		}
		got, err := b.loader.trial(b.of(c), c.frames, s.window)
		if errors.Is(err, errDisturbed) && ctx.Err() == nil {
			fmt.Fprintf(stderr, "round %d: %s: left out: %v\n", round+1, c.name, err)
			continue
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		samples[c.name] = got
		b.spent.add(c.name, got)
		fmt.Fprintf(stderr, "round %d: %s: %s\n", round+1, c.name, got)
	}
	return samples, why, nil
}

// versions are the peers'.
func (b *bed) versions(ctx context.Context) string {
	var found []string
	for _, args := range [][]string{{"pkg-config", "--modversion", "libdpdk"}, {"ovs-vsctl", "--version"}} {
		out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
		line, _, _ := strings.Cut(string(out), "\n")
		if err == nil {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return "DPDK " + strings.Join(found, ", ")
}

// remove ends everything, the sender first. Who stands still could not end what it has started.
func (b *bed) remove() (err error) {
	_ = b.each((*device).resume) // one may have ended
	if b.loader != nil {
		err = b.loader.place.remove()
	}
	for _, d := range b.devices {
		err = errors.Join(err, d.place.remove())
	}
	return err
}
