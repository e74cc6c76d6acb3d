package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"windtunnel/bench"
	"windtunnel/bench/wire"
)

const (
	fewRoutes  = 10
	mostRoutes = 1_900_000 // 2,000,000 are the vRouter's limit, as of flows
	fewFlows   = 10
)

// sprayPart compares networks of the same vRouters with each other.
type sprayPart struct{}

func (sprayPart) name() string { return "routes, flows and switches of single packets" }

func (sprayPart) measure(ctx context.Context, s settings, stderr io.Writer) (o outcome, err error) {
	networks, err := sprayNetworks(s.routes, s.flows)
	if err != nil {
		return o, err
	}
	fmt.Fprintf(stderr, "starting two vRouters, with %d routes and %d flows\n", s.routes, s.flows)
	b, err := newBed(ctx, s.bin, networks)
	if err != nil {
		return o, err
	}
	defer b.remove()
	if err := b.begin(ctx); err != nil {
		return o, err
	}
	var all []*bench.Comparison
	ratios := sprayRatios(s.routes, s.flows)
	for _, r := range ratios {
		c := &bench.Comparison{What: r.what, Goal: r.goal, Limit: r.limit}
		all = append(all, c)
		if r.cost {
			o.costs = append(o.costs, c)
		} else {
			o.rows = append(o.rows, c)
		}
	}
	began := time.Now()
	for round := 0; round < s.rounds || round < s.most && time.Since(began) < s.budget && !bench.Decided(all); round++ {
		rates, err := b.round(ctx, s, round, stderr)
		if err != nil {
			return o, err
		}
		for i, r := range ratios {
			all[i].Add(rates[r.over], rates[r.under])
		}
	}
	return o, nil
}

// round sprays at every network once, and gives their rates.
func (b *bed) round(ctx context.Context, s settings, round int, stderr io.Writer) (map[string]float64, error) {
	var programs []wire.Program
	for i, n := range b.networks {
		programs = append(programs, wire.Program{Name: n.name, Run: func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
			return b.trial(ctx, s.window, i)
		}})
	}
	samples, err := b.wire.Round(ctx, round, programs)
	if err != nil {
		return nil, err
	}
	rates := map[string]float64{}
	for i, sample := range samples {
		rates[programs[i].Name] = sample.PerSecond
		fmt.Fprintf(stderr, "round %d: %s %.0f/s; %s\n", round+1, programs[i].Name, sample.PerSecond, sample)
	}
	return rates, nil
}

// begin sprays at the networks in flow mode until nearly all of their flows are in the table: of n that
// are drawn at random, 5n draws leave out one in 148.
func (b *bed) begin(ctx context.Context) error {
	for i, n := range b.networks {
		if !n.flow {
			continue
		}
		before, err := b.count()
		if err != nil {
			return err
		}
		stop := b.spray(ctx, i)
		err = b.await(ctx, before+5*uint64(n.flows))
		if err := errors.Join(err, stop()); err != nil {
			return fmt.Errorf("beginning the flows of %s: %w", n.name, err)
		}
	}
	return nil
}

// await waits until so many frames have come.
func (b *bed) await(ctx context.Context, frames uint64) error {
	for limit := time.Now().Add(5 * patience); time.Now().Before(limit); {
		now, err := b.count()
		if err != nil || now >= frames {
			return err
		}
		if err := wire.Wait(ctx, lookEvery); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s were not enough", 5*patience)
}

// spray begins to spray at a network; stop ends it, and tells what went wrong.
func (b *bed) spray(ctx context.Context, i int) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var spraying sync.WaitGroup
	var failed error
	spraying.Go(func() {
		failed = senders.Inside(0, func() error {
			device, err := netlink.LinkByName(senderEnd(i))
			if err != nil {
				return err
			}
			return b.networks[i].run(ctx, device.Attrs().Index)
		})
	})
	return func() error {
		cancel()
		spraying.Wait()
		return failed
	}
}

// trial sprays at one network, and counts what arrives in the window.
func (b *bed) trial(ctx context.Context, window time.Duration, i int) (sample wire.Sample, err error) {
	stop := b.spray(ctx, i)
	defer func() { err = errors.Join(err, stop()) }()
	if err := wire.Wait(ctx, wire.WarmUp/2); err != nil {
		return sample, err
	}
	began := time.Now()
	before, err := b.count()
	if err != nil {
		return sample, err
	}
	if sample, err = b.wire.Sample(ctx, window, ours()...); err != nil {
		return sample, err
	}
	after, err := b.count()
	if err == nil && after == before {
		err = fmt.Errorf("no frame of the network %s arrived", b.networks[i].name)
	}
	sample.PerSecond = float64(after-before) / time.Since(began).Seconds()
	return sample, err
}

// ours are the processes whose time is the trial's own: this one, and the kernel's threads that take
// over when packets are many.
func ours() []int {
	pids := []int{os.Getpid()}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return pids // a pattern that is none; this one is
	}
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(comm), "ksoftirqd/") {
			continue // it has ended, or is another
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
