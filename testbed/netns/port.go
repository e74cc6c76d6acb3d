package netns

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// configure gives a new device every attribute: it is a port and up before it has
// addresses, and steered last, since NAPI is there only then.
func (c *cell) configure(p testbed.Interface) error {
	order := []string{
		testbed.AttributeMAC, testbed.AttributeMTU, testbed.AttributeBridge, up,
		testbed.AttributeAddresses, testbed.AttributeQueueBy, offloads,
	}
	if p.BitsPerSecond > 0 {
		order = append(order, testbed.AttributeRate)
	}
	if p.Loss > 0 {
		order = append(order, testbed.AttributeLoss)
	}
	for _, attribute := range order {
		if err := c.setPort(attribute, p); err != nil {
			return fmt.Errorf("setting %s of %s/%s: %w", attribute, p.Place, p.Device, err)
		}
	}
	return nil
}

// Steps of configure that are not attributes of their own.
const (
	up       = "up"
	offloads = "offloads"
)

// setPort brings one attribute of a device to what the graph says. Names that are
// no other attribute are offloads.
func (c *cell) setPort(attribute string, p testbed.Interface) error {
	switch attribute {
	case testbed.AttributeMAC:
		return c.onDevice(p, setMAC)
	case testbed.AttributeMTU:
		return c.onDevice(p, func(h *handle, d netlink.Link, p testbed.Interface) error { return h.LinkSetMTU(d, p.MTU) })
	case testbed.AttributeBridge:
		return c.onDevice(p, c.setBridge)
	case up:
		return c.onDevice(p, func(h *handle, d netlink.Link, _ testbed.Interface) error { return h.LinkSetUp(d) })
	case testbed.AttributeAddresses, testbed.AttributeRoutes:
		if err := c.onDevice(p, setAddresses); err != nil {
			return err
		}
		return c.onDevice(p, setRoutes) // routes go with the address they need
	case testbed.AttributeSteering:
		return c.steerEnd(p)
	case testbed.AttributeQueueBy:
		return c.queueBy(p)
	case testbed.AttributeRate:
		return c.onDevice(p, setRate)
	case testbed.AttributeLoss:
		return c.setLoss(p)
	}
	if err := errors.Join(c.setOffloads(p), c.onDevice(p, setJoins)); err != nil {
		return err
	}
	return c.steerEnd(p) // switching GRO makes NAPI threads anew
}

// onDevice runs f on the stack's thread with a handle and the device.
func (c *cell) onDevice(p testbed.Interface, f func(*handle, netlink.Link, testbed.Interface) error) error {
	return c.stacks[p.Place].Do(func() error {
		return withLinks(func(h *handle) error {
			device, err := h.LinkByName(p.Device)
			if err != nil {
				return fmt.Errorf("finding %s/%s: %w", p.Place, p.Device, err)
			}
			return f(h, device, p)
		})
	})
}

func setMAC(h *handle, device netlink.Link, p testbed.Interface) error {
	mac, err := hardware(p.MAC)
	if mac == nil || err != nil || mac.String() == device.Attrs().HardwareAddr.String() {
		return err
	}
	return h.LinkSetHardwareAddr(device, mac)
}

func (c *cell) setBridge(h *handle, device netlink.Link, p testbed.Interface) error {
	if p.Bridge == "" {
		if device.Attrs().MasterIndex == 0 {
			return nil
		}
		return h.LinkSetNoMaster(device)
	}
	bridge, err := h.LinkByName(c.bridgeDevice(p.Bridge))
	if err != nil {
		return fmt.Errorf("finding the bridge %s: %w", p.Bridge, err)
	}
	if bridge.Type() == bondType { // which takes no members that are up, and brings them up itself (bond_enslave in drivers/net/bonding/bond_main.c)
		if err := h.LinkSetDown(device); err != nil {
			return err
		}
	}
	if err := h.LinkSetMaster(device, bridge); err != nil || !p.Isolated {
		return err
	}
	return h.LinkSetIsolated(device, true)
}

// bridgeDevice returns the device of a bridge or bond of this node's.
func (c *cell) bridgeDevice(name string) string {
	for _, b := range c.graph.Bonds {
		if b.Name == name {
			return b.Device
		}
	}
	for _, b := range c.graph.Bridges {
		if b.Name == name {
			return b.Device
		}
	}
	return name
}

func setAddresses(h *handle, device netlink.Link, p testbed.Interface) error {
	have, err := addresses(h, device)
	if err != nil {
		return err
	}
	for _, a := range have {
		if slices.Contains(p.Addresses, a.IPNet.String()) {
			continue
		}
		if err := h.AddrDel(device, &a); err != nil {
			return fmt.Errorf("removing the address %s: %w", a.IPNet, err)
		}
	}
	for _, address := range p.Addresses {
		a, err := netlink.ParseAddr(address)
		if err != nil {
			return fmt.Errorf("reading the address %s: %w", address, err)
		}
		if err := h.AddrReplace(device, a); err != nil {
			return fmt.Errorf("adding the address %s: %w", address, err)
		}
	}
	return nil
}

// addresses lists what somebody gave a device: not the link-local addresses that
// IPv6 gives itself.
func addresses(h *handle, device netlink.Link) ([]netlink.Addr, error) {
	all, err := h.AddrList(device, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("reading the addresses of %s: %w", device.Attrs().Name, err)
	}
	return slices.DeleteFunc(all, func(a netlink.Addr) bool {
		return a.Scope == int(netlink.SCOPE_LINK) && a.IP.IsLinkLocalUnicast()
	}), nil
}

func setRoutes(h *handle, device netlink.Link, p testbed.Interface) error {
	have, err := routes(h, device)
	if err != nil {
		return err
	}
	for _, r := range have {
		if slices.Contains(p.Routes, asRoute(r)) {
			continue
		}
		if err := h.RouteDel(&r); err != nil {
			return fmt.Errorf("removing the route to %s: %w", r.Dst, err)
		}
	}
	for _, want := range p.Routes {
		r, err := kernelRoute(want, device.Attrs().Index)
		if err != nil {
			return err
		}
		if err := h.RouteReplace(r); err != nil {
			return fmt.Errorf("adding the route to %s: %w", want.Prefix, err)
		}
	}
	return nil
}

// routes lists what somebody routed through a device: not what the kernel adds
// with an address.
func routes(h *handle, device netlink.Link) ([]netlink.Route, error) {
	all, err := h.RouteList(device, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("reading the routes of %s: %w", device.Attrs().Name, err)
	}
	return slices.DeleteFunc(all, func(r netlink.Route) bool {
		return r.Protocol == unix.RTPROT_KERNEL || r.Dst == nil
	}), nil
}

func asRoute(r netlink.Route) testbed.Route {
	route := testbed.Route{Prefix: r.Dst.String()}
	if r.Gw != nil {
		route.Gateway = r.Gw.String()
	}
	return route
}

func kernelRoute(want testbed.Route, index int) (*netlink.Route, error) {
	_, destination, err := net.ParseCIDR(want.Prefix)
	if err != nil {
		return nil, fmt.Errorf("reading the route %s: %w", strings.TrimSpace(want.Prefix+" "+want.Gateway), err)
	}
	r := &netlink.Route{LinkIndex: index, Dst: destination, Gw: net.ParseIP(want.Gateway)}
	if want.Gateway == "" {
		r.Scope = netlink.SCOPE_LINK
	}
	return r, nil
}
