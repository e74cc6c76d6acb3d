package netns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// Settle brings the interfaces of a stack that hardware has filled, as a virtual machine's is, to what a graph
// says of them. They are known by their MAC addresses.
func Settle(stack *Stack, interfaces []testbed.Interface) error {
	c := settled(stack, interfaces)
	if err := stack.settle(wantsIPv6(c.graph, stack.place)); err != nil {
		return err
	}
	if err := stack.Do(func() error { return withLinks(func(h *handle) error { return h.nameByMAC(interfaces) }) }); err != nil {
		return err
	}
	// The first one's routes are the first, by which what is bound to no address leaves.
	for _, p := range slices.SortedFunc(slices.Values(interfaces), func(a, b testbed.Interface) int { return cmp.Compare(a.Device, b.Device) }) {
		if err := c.configure(p); err != nil {
			return err
		}
	}
	return stack.Do(func() error {
		if err := greetGateways(interfaces); err != nil || len(interfaces) < 2 {
			return err
		}
		return keepApart(interfaces)
	})
}

// discard is the port for what nobody is to answer (RFC 863).
const discard = "9"

// greetGateways sends a datagram to each, for passt learns a guest's MAC by what the guest sends: until then it sends to all, and
// TCP takes nothing that is for all.
func greetGateways(interfaces []testbed.Interface) error {
	for _, p := range interfaces {
		for _, r := range p.Routes {
			if r.Gateway == "" {
				continue
			}
			to, err := net.Dial("udp", net.JoinHostPort(r.Gateway, discard))
			if err != nil {
				return fmt.Errorf("greeting the gateway %s: %w", r.Gateway, err)
			}
			_, sent := to.Write([]byte{0})
			if err := errors.Join(sent, to.Close()); err != nil {
				return fmt.Errorf("greeting the gateway %s: %w", r.Gateway, err)
			}
		}
	}
	return nil
}

// Unsettled tells every difference between those interfaces and the graph.
func Unsettled(ctx context.Context, stack *Stack, interfaces []testbed.Interface) error {
	c := settled(stack, interfaces)
	return c.settled(ctx, c.graph)
}

// settled is a cell of these interfaces alone.
func settled(stack *Stack, interfaces []testbed.Interface) *cell {
	c := &cell{stacks: map[string]*Stack{}, ends: map[string]int{}, receivers: map[string][]int{}}
	for _, p := range interfaces {
		c.stacks[p.Place] = stack
		c.graph.Links = append(c.graph.Links, testbed.Link{Ends: [2]testbed.Interface{p}})
	}
	return c
}

// nameByMAC gives interfaces their names, by way of others, since a name may be that of another one still.
func (h *handle) nameByMAC(interfaces []testbed.Interface) error {
	links, err := h.LinkList()
	if err != nil {
		return fmt.Errorf("listing the interfaces: %w", err)
	}
	var named []netlink.Link
	for i, p := range interfaces {
		var found netlink.Link
		for _, link := range links {
			if strings.EqualFold(link.Attrs().HardwareAddr.String(), p.MAC) {
				found = link
			}
		}
		if found == nil {
			return fmt.Errorf("no interface has the MAC %s, which is %s's", p.MAC, p.Device)
		}
		named = append(named, found)
		if err := errors.Join(h.LinkSetDown(found), h.LinkSetName(found, fmt.Sprintf("unnamed%d", i))); err != nil {
			return fmt.Errorf("renaming %s: %w", found.Attrs().Name, err)
		}
	}
	for i, link := range named {
		if err := h.LinkSetName(link, interfaces[i].Device); err != nil {
			return fmt.Errorf("naming the interface %s: %w", interfaces[i].Device, err)
		}
	}
	return nil
}

// keepApart has each of several interfaces of one subnet speak for its own address alone, in what is asked by
// ARP (Documentation/networking/ip-sysctl.rst, arp_ignore and arp_announce) and in what is routed.
func keepApart(interfaces []testbed.Interface) error {
	for name, value := range map[string]string{"arp_ignore": "1", "arp_announce": "2"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/all/"+name, []byte(value), 0); err != nil {
			return fmt.Errorf("keeping interfaces apart: %w", err)
		}
	}
	const firstTable = 100 // any that nobody uses
	return withLinks(func(h *handle) error {
		for i, p := range interfaces {
			device, err := h.LinkByName(p.Device)
			if err != nil {
				return fmt.Errorf("finding %s: %w", p.Device, err)
			}
			for _, text := range p.Addresses {
				if err := h.routeFrom(device, text, firstTable+i); err != nil {
					return fmt.Errorf("routing by the address %s: %w", text, err)
				}
			}
		}
		return nil
	})
}

// routeFrom has what is sent from an IPv4 address leave by its interface.
func (h *handle) routeFrom(device netlink.Link, text string, table int) error {
	address, err := netlink.ParseAddr(text)
	if err != nil || address.IP.To4() == nil {
		return err
	}
	subnet := *address.IPNet
	subnet.IP = subnet.IP.Mask(subnet.Mask)
	route := &netlink.Route{LinkIndex: device.Attrs().Index, Dst: &subnet, Src: address.IP, Scope: netlink.SCOPE_LINK, Table: table}
	if err := h.RouteReplace(route); err != nil {
		return err
	}
	rule := netlink.NewRule()
	rule.Src, rule.Table, rule.Priority = netlink.NewIPNet(address.IP), table, table
	if err := h.RuleAdd(rule); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}
