package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"windtunnel/vrouter/core"
)

// namePattern: names become file names and lines of tables.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ValidName tells whether a vRouter, network or port may have this name.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// interfacePattern: what the kernel allows (dev_valid_name), and no blanks.
var interfacePattern = regexp.MustCompile(`^[^/:\s]{1,15}$`)

// Validate says what is wrong with the configuration, if anything is, as an *Error whose Path says
// where. Parse does it too.
func (c Config) Validate() error {
	if _, err := c.check(); err != nil {
		return err
	}
	return nil
}

// A checker holds what was seen so far, to find what is there twice.
type checker struct {
	config     Config
	networks   map[string]Network
	flat       map[string]bool
	interfaces map[string]bool
	labels     map[uint32]string // to whose it is
	vnis       map[uint32]string
	policies   map[string]bool
	ports      map[string]Port
	hosts      map[string]string // network and address, to the port's name
	seen       map[string]bool
}

func bad(path, format string, args ...any) *Error {
	return &Error{Path: path, Message: fmt.Sprintf(format, args...)}
}

// check validates, and gives what there is to check changes by.
func (c Config) check() (*checker, *Error) {
	k := &checker{
		config: c, networks: make(map[string]Network), flat: c.flat(), seen: make(map[string]bool),
		interfaces: map[string]bool{c.Fabric.Interface: true}, labels: make(map[uint32]string),
		vnis: make(map[uint32]string), policies: make(map[string]bool), ports: make(map[string]Port), hosts: make(map[string]string),
	}
	if err := cmp.Or(k.node(), k.offload(), k.config.Fabric.Fast.check("fabric.fast")); err != nil {
		return nil, err
	}
	if err := k.fabric(); err != nil {
		return nil, err
	}
	for i, n := range c.Networks {
		if err := k.network(fmt.Sprintf("networks[%d]", i), n); err != nil {
			return nil, err
		}
	}
	for i, p := range c.Policies {
		if err := k.policy(fmt.Sprintf("policies[%d]", i), p); err != nil {
			return nil, err
		}
	}
	for i, p := range c.Ports {
		if err := k.port(fmt.Sprintf("ports[%d]", i), p); err != nil {
			return nil, err
		}
	}
	if err := k.bridges(); err != nil {
		return nil, err
	}
	for i, r := range c.Routes {
		if err := k.route(fmt.Sprintf("routes[%d]", i), r); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *checker) node() *Error {
	c := k.config
	switch {
	case c.Format != Format:
		return bad("format", "%d is not known; this vRouter reads %d", c.Format, Format)
	case !namePattern.MatchString(c.Name):
		return bad("name", "%q must be 1 to 64 letters, digits, dots, hyphens or underscores", c.Name)
	case !interfacePattern.MatchString(c.Fabric.Interface):
		return bad("fabric.interface", "%q is no interface's name", c.Fabric.Interface)
	case c.Fabric.Receive != "" && !slices.Contains(receives, string(c.Fabric.Receive)):
		return bad("fabric.receive", "there is no way to receive %q%s", c.Fabric.Receive, nearest(string(c.Fabric.Receive), slices.Clone(receives)))
	case len(c.Networks) >= core.MaxVRFs:
		return bad("networks", "%d are more than the %d there is room for", len(c.Networks), core.MaxVRFs-1)
	case len(c.Ports) >= core.MaxVifs:
		return bad("ports", "%d are more than the %d there is room for", len(c.Ports), core.MaxVifs-1)
	case c.Limits.Routes < 0 || c.Limits.Routes > MaxRoutes:
		return bad("limits.routes", "%d is not between 1 and %d", c.Limits.Routes, MaxRoutes)
	case c.Limits.Flows < 0 || c.Limits.Flows > MaxFlows:
		return bad("limits.flows", "%d is not between 1 and %d", c.Limits.Flows, MaxFlows)
	case len(c.Policies) >= core.MaxPolicies:
		return bad("policies", "%d are more than the %d there is room for", len(c.Policies), core.MaxPolicies-1)
	case len(c.Routes) > c.Limits.routes():
		return bad("routes", "%d are more than the limit of %d; raise limits.routes", len(c.Routes), c.Limits.routes())
	}
	return nil
}

// fabric: the node has an address of one family at least. Tunnels cross links, so it is none of one.
func (k *checker) fabric() *Error {
	f := k.config.Fabric
	switch {
	case !f.Address.IsValid() && !f.Address6.IsValid():
		return bad("fabric", `the node has no address; give it an "address" (IPv4), an "address6" (IPv6), or both`)
	case unicast6(f.Address):
		return bad("fabric.address", `%s is IPv6; give it as "address6"`, f.Address)
	case f.Address.IsValid() && !unicast(f.Address):
		return bad("fabric.address", "%s is no IPv4 host address", f.Address)
	case f.Address6.IsLinkLocalUnicast():
		return bad("fabric.address6", "%s is an address of one link only; give the node one that is routed, such as fd00::1", f.Address6)
	case f.Address6.IsValid() && !unicast6(f.Address6):
		return bad("fabric.address6", "%s is no IPv6 host address", f.Address6)
	}
	return cmp.Or(k.fabricDevice(), k.peers())
}

// unicast: one host's IPv4 address.
func unicast(a netip.Addr) bool {
	return a.Is4() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && a.As4()[0] < 240
}

// unicast6: one host's IPv6 address, of more than one link.
func unicast6(a netip.Addr) bool {
	return a.Is6() && !a.Is4In6() && a.Zone() == "" && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
}

// name checks a name of a kind, and that it is there once.
func (k *checker) name(path, kind, name string) *Error {
	if !namePattern.MatchString(name) {
		return bad(path, "%q must be 1 to 64 letters, digits, dots, hyphens or underscores", name)
	}
	if k.seen[kind+name] {
		return bad(path, "there is a second %s %q", kind, name)
	}
	k.seen[kind+name] = true
	return nil
}
