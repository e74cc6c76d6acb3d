package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"windtunnel/vrouter/core"
)

// maxLabel is the largest that RFC 3032 has bits for.
const maxLabel = 1<<20 - 1

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
	if err := cmp.Or(k.node(), k.config.Fabric.Fast.check("fabric.fast")); err != nil {
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
	case c.Fabric.UDPChecksum:
		// Without that type every packet gets a copy of the same: __skb_udp_tunnel_segment, net/ipv4/udp_offload.c.
		return bad("fabric.udp_checksum", "no outer UDP checksum can be made: an aggregate (GSO) is cut into packets behind BPF, "+
			"which has no way to ask for a checksum of each (SKB_GSO_UDP_TUNNEL_CSUM); leave it out or false, inner packets have their own")
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
	return k.peers()
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

func (k *checker) network(path string, n Network) *Error {
	if err := k.name(path+".name", "network", n.Name); err != nil {
		return err
	}
	switch {
	case !n.Subnet.IsValid() || !n.Subnet.Addr().Is4():
		return bad(path+".subnet", "%s is no IPv4 prefix", n.Subnet)
	case n.Subnet != n.Subnet.Masked():
		return bad(path+".subnet", "%s has bits behind its prefix; did you mean %s?", n.Subnet, n.Subnet.Masked())
	case !unicast(n.Gateway) || !n.Subnet.Contains(n.Gateway):
		return bad(path+".gateway", "%s is no host of %s", n.Gateway, n.Subnet)
	case n.Subnet6.IsValid() != n.Gateway6.IsValid():
		return bad(path, "subnet6 and gateway6 belong together; give both or none")
	case n.Subnet6.IsValid() && !n.Subnet6.Addr().Is6():
		return bad(path+".subnet6", "%s is no IPv6 prefix", n.Subnet6)
	case n.Subnet6.IsValid() && n.Subnet6 != n.Subnet6.Masked():
		return bad(path+".subnet6", "%s has bits behind its prefix; did you mean %s?", n.Subnet6, n.Subnet6.Masked())
	case n.Subnet6.IsValid() && (!unicast6(n.Gateway6) || !n.Subnet6.Contains(n.Gateway6)):
		return bad(path+".gateway6", "%s is no host of %s", n.Gateway6, n.Subnet6)
	case n.VNI > maxVNI:
		return bad(path+".vni", "%d is not between 1 and %d", n.VNI, maxVNI)
	case n.VNI != 0 && k.vnis[n.VNI] != "":
		return bad(path+".vni", "%d belongs to network %q already", n.VNI, k.vnis[n.VNI])
	}
	k.vnis[n.VNI] = n.Name
	k.networks[n.Name] = n
	return k.label(path, n.Label, fmt.Sprintf("network %q", n.Name))
}

func (k *checker) knownNetwork(path, name string) (Network, *Error) {
	n, ok := k.networks[name]
	if !ok {
		return n, bad(path+".network", "there is no network %q%s", name, nearest(name, sortedKeys(k.networks)))
	}
	return n, nil
}

func (k *checker) port(path string, p Port) *Error {
	if err := k.name(path+".name", "port", p.Name); err != nil {
		return err
	}
	n, err := k.knownNetwork(path, p.Network)
	if err != nil {
		return err
	}
	switch {
	case !interfacePattern.MatchString(p.Interface):
		return bad(path+".interface", "%q is no interface's name", p.Interface)
	case k.interfaces[p.Interface]:
		return bad(path+".interface", "%q is in use already", p.Interface)
	case !unicast(p.Address) || !n.Subnet.Contains(p.Address):
		return bad(path+".address", "%s is no host of %s, the subnet of %s", p.Address, n.Subnet, n.Name)
	case p.Address == n.Gateway:
		return bad(path+".address", "%s is the gateway of %s", p.Address, n.Name)
	case p.Address6.IsValid() && !n.Subnet6.IsValid():
		return bad(path+".address6", "the network %s has no IPv6; give it a subnet6 and a gateway6", n.Name)
	case p.Address6.IsValid() && (!unicast6(p.Address6) || !n.Subnet6.Contains(p.Address6)):
		return bad(path+".address6", "%s is no host of %s, the subnet6 of %s", p.Address6, n.Subnet6, n.Name)
	case p.Address6.IsValid() && p.Address6 == n.Gateway6:
		return bad(path+".address6", "%s is the gateway of %s", p.Address6, n.Name)
	case p.MAC == MAC{} || p.MAC[0]&1 != 0:
		return bad(path+".mac", "%s is no host's address", p.MAC)
	}
	k.interfaces[p.Interface] = true
	k.ports[p.Name] = p
	if err := cmp.Or(k.label(path, p.Label, fmt.Sprintf("port %q", p.Name)), p.checkFast(path)); err != nil {
		return err
	}
	if err := k.portFlow(path, p); err != nil {
		return err
	}
	return k.portAddress(path, p)
}

// addressKeys are where a port's addresses stand, in the order that it gives them.
var addressKeys = []string{".address", ".address6"}

// portAddress: unique in the network, and among all networks that are reached without a tunnel.
func (k *checker) portAddress(path string, p Port) *Error {
	scopes := []string{"network " + p.Network}
	if k.flat[p.Network] {
		scopes = append(scopes, "")
		for i, address := range p.addresses() {
			if address == k.config.Fabric.toward(address) {
				return bad(path+addressKeys[i], "%s is the node's own, and %s is reached without encapsulation", address, p.Network)
			}
		}
	}
	for _, scope := range scopes {
		for i, address := range p.addresses() {
			key := scope + " " + address.String()
			if other, ok := k.hosts[key]; ok {
				return bad(path+addressKeys[i], "%s belongs to port %q already%s", address, other, flatReason(scope))
			}
			k.hosts[key] = p.Name
		}
	}
	return nil
}

func flatReason(scope string) string {
	if scope != "" {
		return ""
	}
	return "; networks that are reached without encapsulation share the underlay's addresses"
}

func (k *checker) route(path string, r Route) *Error {
	if err := k.routeTarget(path, r.Network, r.Prefix); err != nil {
		return err
	}
	key := "route " + r.Network + " " + r.Prefix.String()
	if k.seen[key] {
		return bad(path+".prefix", "there is a second route to %s in %s", r.Prefix, r.Network)
	}
	k.seen[key] = true
	return k.via(path+".via", k.networks[r.Network], r.Prefix, r.Via)
}

// routeTarget checks where to a route of a network leads: not to what is on this node.
func (k *checker) routeTarget(path, network string, prefix netip.Prefix) *Error {
	if _, err := k.knownNetwork(path, network); err != nil {
		return err
	}
	switch {
	case !prefix.IsValid() || prefix.Addr().Is4In6():
		return bad(path+".prefix", "%s is no IPv4 or IPv6 prefix", prefix)
	case prefix.Addr().Is6() && !k.networks[network].Subnet6.IsValid():
		return bad(path+".prefix", "%s is IPv6, and the network %s has none; give it a subnet6 and a gateway6", prefix, network)
	case prefix != prefix.Masked():
		return bad(path+".prefix", "%s has bits behind its prefix; did you mean %s?", prefix, prefix.Masked())
	case !prefix.IsSingleIP():
		return nil
	}
	if port, ok := k.hosts["network "+network+" "+prefix.Addr().String()]; ok {
		return bad(path+".prefix", "%s is port %q of this node", prefix, port)
	}
	if n := k.networks[network]; prefix.Addr() == n.Gateway || prefix.Addr() == n.Gateway6 {
		return bad(path+".prefix", "%s is the gateway of %s, which is on every node", prefix, network)
	}
	return nil
}

// viaTunnel checks a way to another node.
func (k *checker) viaTunnel(path string, n Network, v Via) *Error {
	switch {
	case v.Encapsulation == "":
		return bad(path, "the key \"encapsulation\" is missing%s", nearest("", slices.Clone(encapsulations)))
	case !slices.Contains(encapsulations, string(v.Encapsulation)):
		return bad(path+".encapsulation", "there is no encapsulation %q%s", v.Encapsulation, nearest(string(v.Encapsulation), slices.Clone(encapsulations)))
	case !unicast(v.Tunnel) && !unicast6(v.Tunnel):
		return bad(path+".tunnel", "%s is no host's address, IPv4 or IPv6, of more than one link", v.Tunnel)
	case !k.config.Fabric.toward(v.Tunnel).IsValid():
		return bad(path+".tunnel", "%s", unreachable(v.Tunnel))
	case v.Tunnel == k.config.Fabric.toward(v.Tunnel):
		return bad(path+".tunnel", "%s is this node itself", v.Tunnel)
	}
	switch v.Encapsulation {
	case NoEncapsulation:
		return k.viaNothing(path, v)
	case VXLAN:
		return k.viaVXLAN(path, n, v)
	}
	return k.viaMPLS(path, v)
}

// unreachable: a tunnel's two ends are of one family.
func unreachable(far netip.Addr) string {
	family, key := "IPv6", "address6"
	if far.Is4() {
		family, key = "IPv4", "address"
	}
	return fmt.Sprintf("%s is %s, and this node has no such address to send from; give the fabric an %q, or name the far end by its address of the other family", far, family, key)
}

func (k *checker) viaNothing(path string, v Via) *Error {
	switch {
	case v.Label != 0:
		return bad(path+".label", "without encapsulation there is nothing that could carry a label")
	case v.VNI != 0:
		return bad(path+".vni", "without encapsulation there is nothing that could carry a VNI")
	case v.MAC != MAC{}:
		return bad(path+".mac", "without encapsulation packets are addressed to the neighbour, whose MAC is found by itself; leave it out")
	}
	return nil
}

func (k *checker) viaMPLS(path string, v Via) *Error {
	switch {
	case v.Label < core.MinLabel || v.Label > maxLabel:
		return bad(path+".label", "%d is not between %d and %d", v.Label, core.MinLabel, maxLabel)
	case v.VNI != 0:
		return bad(path+".vni", "MPLS carries a label, no VNI; leave it out, or use the encapsulation %q", VXLAN)
	case v.MAC != MAC{}:
		return bad(path+".mac", "MPLS carries no inner Ethernet header; leave it out, or use the encapsulation %q", VXLAN)
	}
	return nil
}

func (k *checker) viaVXLAN(path string, n Network, v Via) *Error {
	switch {
	case v.Label != 0:
		return bad(path+".label", "VXLAN carries a VNI, no label; leave it out, or use the encapsulation %q", MPLSoUDP)
	case v.VNI > maxVNI:
		return bad(path+".vni", "%d is not between 1 and %d", v.VNI, maxVNI)
	case v.VNI == 0 && n.VNI == 0:
		return bad(path+".vni", "there is no VNI, neither here nor on the network %q; give one", n.Name)
	case v.MAC[0]&1 != 0:
		return bad(path+".mac", "%s is no host's address", v.MAC)
	}
	return nil
}
