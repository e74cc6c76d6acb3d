package config

import (
	"cmp"
	"fmt"
)

func (k *checker) port(path string, p Port) *Error {
	if err := k.name(path+".name", "port", p.Name); err != nil {
		return err
	}
	n, err := k.knownNetwork(path, p.Network)
	if err != nil {
		return err
	}
	if err := k.place(path, p); err != nil {
		return err
	}
	switch {
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
	case p.MAC == GatewayMAC:
		return bad(path+".mac", "%s is every network's gateway's; give the container another", p.MAC)
	}
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
