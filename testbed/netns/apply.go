package netns

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"windtunnel/testbed"
)

// place makes the stacks of the node and its containers that do not stand yet.
func (c *cell) place(want testbed.Graph) error {
	for _, place := range want.Part(c.node).Stacks() {
		if c.stacks[place] == nil {
			if err := c.addStack(want, place); err != nil {
				return err
			}
		}
		if isInPlace(want, place) {
			continue // it is settled, by its owner
		}
		if err := c.stacks[place].settle(wantsIPv6(want, place)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cell) addStack(want testbed.Graph, place string) error {
	if isInPlace(want, place) {
		return c.addHost(place)
	}
	if place == c.node && c.host != nil {
		c.stacks[place] = c.host.stack
		return c.host.stack.pin(c.cpus)
	}
	stack, err := NewStack(place, filepath.Dir(c.dir))
	if err != nil {
		return err
	}
	c.stacks[place] = stack
	if err := stack.pin(c.cpus); err != nil {
		return fmt.Errorf("pinning the stack of %s: %w", place, err)
	}
	return nil
}

// wantsIPv6 tells whether an interface of the place has an IPv6 address. That of one place is no reason to
// wake it in another: a container of IPv4 behind an underlay of IPv6 would send of its own.
func wantsIPv6(g testbed.Graph, place string) bool {
	return slices.ContainsFunc(g.Interfaces(), func(i testbed.Interface) bool {
		return i.Place == place && slices.ContainsFunc(i.Addresses, func(a string) bool { return strings.Contains(a, ":") })
	})
}

// settle brings loopback up and silences IPv6 where nobody uses it: its router
// and duplicate-address messages would be counted as traffic.
func (s *Stack) settle(ipv6 bool) error {
	return s.Do(func() error {
		for _, scope := range []string{"default", "all"} {
			if err := ipv6Quiet("/proc/sys/net/ipv6/conf/"+scope, ipv6); err != nil {
				return fmt.Errorf("settling IPv6 in %s: %w", s.place, err)
			}
		}
		return withLinks(func(links *handle) error { return links.up("lo") })
	})
}

func ipv6Quiet(folder string, used bool) error {
	if _, err := os.Stat(folder); err != nil {
		return nil // a kernel without IPv6 is quiet enough
	}
	values := map[string]string{"disable_ipv6": "1"}
	if used {
		values = map[string]string{"disable_ipv6": "0", "accept_ra": "0", "accept_dad": "0", "router_solicitations": "0"}
	}
	for name, value := range values {
		if err := os.WriteFile(folder+"/"+name, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// apply brings the cell to want, one change after the other. Every node finds the
// same changes, since they all compare the whole graphs, and makes its part of
// them. The graph that stands is noted even after a failure, for the way down.
func (c *cell) apply(ctx context.Context, want testbed.Graph) error {
	if err := c.place(want); err != nil {
		return err
	}
	have := c.graph
	changes := testbed.Diff(have, want)
	c.graph = want.Clone()
	for _, change := range changes {
		var err error
		switch change.Do {
		case testbed.Remove:
			err = c.remove(change, have)
		case testbed.Make:
			err = c.make(ctx, change, want)
		case testbed.Set:
			err = c.set(ctx, change, want)
		}
		if err != nil {
			return fmt.Errorf("to %s: %w", change, err)
		}
	}
	return nil
}
