package netns

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	"windtunnel/testbed"
)

// Contain makes a guest's container in two stacks, the machine's own and an empty one, and has ports of the machine's
// address lead into it. What stands already stays, and its rules are made anew.
func Contain(ctx context.Context, machine, container *Stack, k testbed.GuestContainer, address netip.Addr, mtu int) error {
	c, want := contained(machine, container, k, mtu)
	var stands bool
	err := machine.Do(func() error {
		return withLinks(func(h *handle) (err error) {
			stands, err = h.has(want.Bridges[0].Device)
			return err
		})
	})
	if err == nil && !stands {
		err = c.apply(ctx, want)
	}
	if err != nil {
		return fmt.Errorf("making the guest's container: %w", err)
	}
	return machine.Do(func() error {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
			return fmt.Errorf("having the guest forward: %w", err)
		}
		return publishPorts(address, netip.MustParseAddr(k.Address), k.Publish) // it is validated
	})
}

// Uncontained tells every difference between a guest's container and what it is to be. Its rules show by traffic.
func Uncontained(ctx context.Context, machine, container *Stack, k testbed.GuestContainer, mtu int) error {
	c, want := contained(machine, container, k, mtu)
	c.graph = want
	return c.settled(ctx, want)
}

// contained is a cell of the two stacks.
func contained(machine, container *Stack, k testbed.GuestContainer, mtu int) (*cell, testbed.Graph) {
	g, outer, inner := k.GuestGraph(mtu)
	return &cell{
		name: g.Cell, node: outer, graph: testbed.Graph{Cell: g.Cell}, stacks: map[string]*Stack{outer: machine, inner: container},
		ends: map[string]int{}, receivers: map[string][]int{},
	}, g
}
