package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// settleWithin is how long carriers and bridge ports get: the kernel's link watch
// may wait for a second (net/core/link_watch.c).
const settleWithin = 3 * time.Second

// carrierWithin is how long a real host's interface gets: one that was moved has to find its link anew, which copper
// of 10 Gbit/s takes seconds for.
const carrierWithin = 8 * time.Second

// Verify reads the live state of this node's part of a graph back and returns
// every difference. It is called when all nodes have applied the graph.
func (b *Backend) Verify(ctx context.Context, g testbed.Graph) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, stands := b.cells[g.Cell]
	part := g.Part(b.node)
	if !stands {
		if len(part.Stacks()) == 0 {
			return nil
		}
		return fmt.Errorf("cell %s does not stand on node %s: apply it first", g.Cell, b.node)
	}
	if err := c.settled(ctx, part); err != nil {
		return fmt.Errorf("cell %s on node %s is not as it should be: %w", g.Cell, b.node, err)
	}
	return nil
}

// settled waits for carriers alone: nothing else comes by itself.
func (c *cell) settled(ctx context.Context, part testbed.Graph) error {
	var found []error
	within := settleWithin
	if slices.ContainsFunc(part.Links, func(l testbed.Link) bool { return l.Kind == testbed.WireNetwork }) {
		within = carrierWithin
	}
	err := await(ctx, within, func() error {
		found = c.differences(part)
		for _, err := range found {
			if !errors.Is(err, errNoCarrier) {
				return nil
			}
		}
		return errors.Join(found...)
	})
	if err != nil {
		return err
	}
	return errors.Join(found...)
}

// errNoCarrier is the one difference that may settle by itself.
var errNoCarrier = errors.New("the link has no carrier")

func (c *cell) differences(part testbed.Graph) []error {
	var all []error
	for _, p := range ports(part) {
		stack := c.stacks[p.Place]
		if stack == nil {
			continue // the other node's end of a wire
		}
		if isInPlace(part, p.Place) {
			all = append(all, asList(stack.Do(func() error { return differsInPlace(part, p) }))...)
			continue
		}
		_ = stack.Do(func() error {
			for _, err := range c.portDifferences(stack, p) {
				all = append(all, fmt.Errorf("%s/%s: %w", p.Place, p.Device, err))
			}
			return nil
		})
	}
	for _, b := range part.Bonds {
		all = append(all, asList(c.bondDifference(b))...)
	}
	for _, m := range part.Routes {
		all = append(all, asList(c.routeDifference(m))...)
	}
	for _, want := range part.Daemons {
		if d := c.daemons[want.Name]; d == nil {
			all = append(all, fmt.Errorf("the daemon %s does not run", want.Name))
		} else if err := d.alive(); err != nil {
			all = append(all, err)
		}
	}
	return all
}

// portDifferences compares one device, on its stack's thread.
func (c *cell) portDifferences(stack *Stack, p testbed.Interface) []error {
	var all []error
	err := withLinks(func(h *handle) error {
		device, err := h.LinkByName(p.Device)
		if err != nil {
			return err
		}
		all = append(c.linkDifferences(h, device, p), layer3Differences(h, device, p)...)
		return nil
	})
	if err != nil {
		return []error{err}
	}
	all = append(all, offloadDifferences(p)...)
	if _, attached := c.choosers[p.Place+"/"+p.Device]; attached != (p.QueueBy != testbed.QueueByKernel) {
		all = append(all, fmt.Errorf("what chooses its queues by %q is not attached as it should be", p.QueueBy))
	}
	if _, attached := c.rules[p.Place+"/"+p.Device]; attached != (p.Loss > 0) {
		all = append(all, fmt.Errorf("the rule that drops %g %% is not attached as it should be", 100*p.Loss))
	}
	all = append(all, c.foundDifferences(stack, p)...)
	return append(all, c.steeringDifferences(stack, p)...)
}

func (c *cell) linkDifferences(h *handle, device netlink.Link, p testbed.Interface) []error {
	var all []error
	attrs := device.Attrs()
	if attrs.RawFlags&unix.IFF_UP == 0 || attrs.RawFlags&unix.IFF_LOWER_UP == 0 {
		all = append(all, errNoCarrier)
	}
	if p.BitsPerSecond > 0 {
		all = append(all, asList(rateDifference(h, device, p))...)
	}
	if attrs.MTU != p.MTU {
		all = append(all, fmt.Errorf("the MTU is %d, not %d", attrs.MTU, p.MTU))
	}
	if joins, named := p.Offloads[testbed.GROJoins]; named && joins == (attrs.GROMaxSize == joinsNone) {
		all = append(all, fmt.Errorf("GRO makes packets of up to %d bytes, so %s is not %s: Linux before 5.17 cannot tell it",
			attrs.GROMaxSize, testbed.GROJoins, onOff(joins)))
	}
	if mac := attrs.HardwareAddr.String(); p.MAC != "" && !strings.EqualFold(mac, p.MAC) {
		all = append(all, fmt.Errorf("the MAC is %s, not %s", mac, p.MAC))
	}
	master := 0
	if p.Bridge != "" {
		bridge, err := h.LinkByName(c.bridgeDevice(p.Bridge))
		if err != nil {
			return append(all, fmt.Errorf("finding its bridge: %w", err))
		}
		master = bridge.Attrs().Index
	}
	if port, err := h.LinkGetProtinfo(device); p.Isolated && (err != nil || !port.Isolated) {
		all = append(all, fmt.Errorf("as a port of its bridge it is not isolated: %v", err))
	}
	if attrs.MasterIndex != master {
		all = append(all, fmt.Errorf("it is a port of the device with index %d, not %d", attrs.MasterIndex, master))
	}
	return all
}

func layer3Differences(h *handle, device netlink.Link, p testbed.Interface) []error {
	var all []error
	have, err := addresses(h, device)
	if err != nil {
		return []error{err}
	}
	var names []string
	for _, a := range have {
		names = append(names, a.IPNet.String())
	}
	if err := sameSet("addresses", names, p.Addresses); err != nil {
		all = append(all, err)
	}
	routed, err := routes(h, device)
	if err != nil {
		return append(all, err)
	}
	var prefixes, wanted []string
	for _, r := range routed {
		prefixes = append(prefixes, fmt.Sprint(asRoute(r)))
	}
	for _, r := range p.Routes {
		wanted = append(wanted, fmt.Sprint(r))
	}
	if err := sameSet("routes", prefixes, wanted); err != nil {
		all = append(all, err)
	}
	return all
}

func sameSet(what string, have, want []string) error {
	have, want = slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want))
	if slices.Equal(have, want) {
		return nil
	}
	return fmt.Errorf("the %s are %v, not %v", what, have, want)
}

func offloadDifferences(p testbed.Interface) []error {
	if len(p.Offloads) == 0 {
		return nil
	}
	var all []error
	err := withEthtool(func(tool *ethtool.Socket) error {
		have, err := tool.Features(p.Device)
		if err != nil {
			return fmt.Errorf("reading the offloads: %w", err)
		}
		for feature, on := range features(have, p.Offloads) {
			all = append(all, fmt.Errorf("the offload %s is %s, not %s", feature, onOff(!on), onOff(on)))
		}
		return nil
	})
	return append(all, asList(err)...)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func asList(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

func (c *cell) steeringDifferences(stack *Stack, p testbed.Interface) []error {
	switch p.Steering {
	case testbed.SteerThreaded:
		return threadDifferences(stack, p, c.receive(p), unix.SCHED_NORMAL)
	case testbed.SteerFirst:
		return threadDifferences(stack, p, c.receive(p), unix.SCHED_FIFO)
	case testbed.SteerRPS:
		return rpsDifferences(stack, p.Device, c.receive(p))
	}
	return nil
}

func threadDifferences(stack *Stack, p testbed.Interface, cpus []int, policy uint32) []error {
	text, err := os.ReadFile(stack.device(p.Device) + "/threaded")
	if err != nil || strings.TrimSpace(string(text)) != "1" {
		return []error{fmt.Errorf("its NAPI is not threaded (%q, %v)", strings.TrimSpace(string(text)), err)}
	}
	threads, err := napiByNetlink(p.Device)
	if errors.Is(err, errNoNAPIGet) {
		return nil // they were pinned when found, and cannot be found again without disturbing them
	}
	if err != nil || len(threads) == 0 {
		return []error{fmt.Errorf("it has no NAPI thread (%v)", err)}
	}
	var all []error
	if p.CPUAQueue && len(threads) != int(queues(p)) {
		all = append(all, fmt.Errorf("it has %d NAPI threads, not one for each of its %d queues", len(threads), queues(p)))
	}
	for i, thread := range threads {
		want := ofQueue(p, cpus, i)
		var have unix.CPUSet
		if err := unix.SchedGetaffinity(thread, &have); err != nil {
			all = append(all, fmt.Errorf("reading where NAPI thread %d runs: %w", thread, err))
		} else if len(want) > 0 && have != cpuSet(want) {
			all = append(all, fmt.Errorf("NAPI thread %d is not pinned to the CPUs %v", thread, want))
		}
		if attr, err := unix.SchedGetAttr(thread, 0); err != nil {
			all = append(all, fmt.Errorf("reading the priority of NAPI thread %d: %w", thread, err))
		} else if attr.Policy != policy {
			all = append(all, fmt.Errorf("NAPI thread %d has the scheduling policy %d, not %d", thread, attr.Policy, policy))
		}
	}
	return all
}

func rpsDifferences(stack *Stack, device string, want []int) []error {
	queues, err := filepath.Glob(stack.device(device) + "/queues/rx-*/rps_cpus")
	if err != nil || len(queues) == 0 {
		return []error{fmt.Errorf("it has no receive queue to steer (%v)", err)}
	}
	var all []error
	for _, queue := range queues {
		text, err := os.ReadFile(queue)
		if err != nil {
			all = append(all, fmt.Errorf("reading %s: %w", queue, err))
			continue
		}
		cpus, err := parseMask(string(text))
		if err != nil || !slices.Equal(cpus, slices.Sorted(slices.Values(want))) {
			all = append(all, fmt.Errorf("%s is steered to the CPUs %v, not %v (%v)", filepath.Base(filepath.Dir(queue)), cpus, want, err))
		}
	}
	return all
}
