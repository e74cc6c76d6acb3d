package netns

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// multipathSettings let a stack forward, choose a way by addresses and ports, pass over links without a carrier,
// and take packets by another way than the one back (Documentation/networking/ip-sysctl.rst). They are the stack's
// own, and go with it; that of a real host's node serves other cells, too, and has them back as they were.
var multipathSettings = map[string]string{
	"ip_forward":                           "1",
	"fib_multipath_hash_policy":            "1",
	"conf/all/ignore_routes_with_linkdown": "1",
	"conf/all/rp_filter":                   "0",
	"conf/default/rp_filter":               "0",
	"conf/default/send_redirects":          "0",
	"conf/all/send_redirects":              "0",
}

const ipv4Settings = "/proc/sys/net/ipv4/"

// makeRoute adds a node's route over several links.
func (c *cell) makeRoute(m testbed.Multipath) error {
	settings := maps.Clone(multipathSettings)
	for _, hop := range m.Hops {
		settings["conf/"+hop.Device+"/rp_filter"] = "0" // the strictest of all and the device's counts
	}
	was := map[string]string{}
	c.routed[m.Name] = was
	return c.stacks[m.Node].Do(func() error {
		for name, value := range settings {
			text, err := os.ReadFile(ipv4Settings + name)
			if err == nil {
				was[name] = strings.TrimSpace(string(text))
				err = os.WriteFile(ipv4Settings+name, []byte(value), 0)
			}
			if err != nil {
				return fmt.Errorf("setting net.ipv4.%s (CONFIG_IP_ROUTE_MULTIPATH): %w", name, err)
			}
		}
		return withLinks(func(h *handle) error {
			route, err := multipath(h, m)
			if err != nil {
				return err
			}
			if err := h.RouteReplace(route); err != nil {
				return fmt.Errorf("adding the route to %s over %d links: %w", m.Prefix, len(m.Hops), err)
			}
			return nil
		})
	})
}

func multipath(h *handle, m testbed.Multipath) (*netlink.Route, error) {
	_, destination, err := net.ParseCIDR(m.Prefix)
	if err != nil {
		return nil, fmt.Errorf("reading the route's destination: %w", err)
	}
	route := &netlink.Route{Dst: destination}
	for _, hop := range m.Hops {
		device, err := h.LinkByName(hop.Device)
		if err != nil {
			return nil, fmt.Errorf("finding %s: %w", hop.Device, err)
		}
		route.MultiPath = append(route.MultiPath, &netlink.NexthopInfo{LinkIndex: device.Attrs().Index, Gw: net.ParseIP(hop.Gateway)})
	}
	return route, nil
}

// removeRoute takes it away; one that went with its links is removed already.
func (c *cell) removeRoute(m testbed.Multipath) error {
	stack := c.stacks[m.Node]
	if stack == nil {
		return nil
	}
	return stack.Do(func() error {
		return withLinks(func(h *handle) error {
			_, destination, err := net.ParseCIDR(m.Prefix)
			if err == nil {
				err = h.RouteDel(&netlink.Route{Dst: destination})
			}
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("removing the route to %s: %w", m.Prefix, err)
			}
			return c.unroute(m.Name)
		})
	})
}

// unroute puts the settings back, on the stack's thread.
func (c *cell) unroute(route string) error {
	var failed error
	for name, was := range c.routed[route] {
		if err := os.WriteFile(ipv4Settings+name, []byte(was), 0); err != nil && !errors.Is(err, os.ErrNotExist) { // a device's go with it
			failed = errors.Join(failed, fmt.Errorf("putting net.ipv4.%s back: %w", name, err))
		}
	}
	delete(c.routed, route)
	return failed
}

// routeDifference tells whether a route has its ways.
func (c *cell) routeDifference(m testbed.Multipath) error {
	stack := c.stacks[m.Node]
	if stack == nil {
		return nil
	}
	return stack.Do(func() error {
		return withLinks(func(h *handle) error {
			want, err := multipath(h, m)
			if err != nil {
				return err
			}
			all, err := h.RouteListFiltered(netlink.FAMILY_V4, want, netlink.RT_FILTER_DST)
			if err != nil || len(all) != 1 {
				return fmt.Errorf("node %s has %d routes to %s, not one (%v)", m.Node, len(all), m.Prefix, err)
			}
			if have := gateways(&all[0]); !slices.Equal(have, gateways(want)) {
				return fmt.Errorf("the route of node %s to %s goes over %v, not %v", m.Node, m.Prefix, have, gateways(want))
			}
			return nil
		})
	})
}

func gateways(r *netlink.Route) []string {
	var all []string
	for _, hop := range r.MultiPath {
		all = append(all, fmt.Sprint(hop.Gw, " ", hop.LinkIndex))
	}
	if len(all) == 0 { // the kernel tells of one way in another form
		all = append(all, fmt.Sprint(r.Gw, " ", r.LinkIndex))
	}
	return slices.Sorted(slices.Values(all))
}
