package testbed

import (
	"fmt"
	"net/netip"
	"slices"

	"windtunnel/result"
)

// GuestContainer is a container in a VM: a network stack of its own, in which the VM's worker is, behind a bridge of the
// guest's. The guest rewrites addresses as container engines have it do for published ports: what comes to such a port of
// its own goes to the container (DNAT), and what leaves the container has the guest's address (masquerading). There is no
// engine in the guest.
type GuestContainer struct {
	Subnet  string `json:"subnet"`            // of the bridge
	Gateway string `json:"gateway"`           // the guest's address there
	Address string `json:"address"`           // the container's
	Publish []int  `json:"publish,omitempty"` // ports, each of TCP and UDP, the same on both sides
}

// The places and devices of a guest that has a container in it. The container's own interface is not called like the guest's
// first, because counters of both go by one place.
const (
	guestMachine   = "machine"
	guestContainer = "container"
	guestBridge    = "br0"
	GuestInside    = "inner0"
	guestOutside   = "v-inner0"
)

// GuestGraph is what is to stand in a guest for its container, and the names of the guest's own place and the container's
// there. Its devices have the MTU of the guest's interface.
func (k GuestContainer) GuestGraph(mtu int) (g Graph, machine, container string) {
	within := func(address string) string {
		prefix, _ := netip.ParsePrefix(k.Subnet) // it is validated
		return fmt.Sprintf("%s/%d", address, prefix.Bits())
	}
	inside := Interface{
		Place: guestContainer, Device: GuestInside, MTU: mtu, Addresses: []string{within(k.Address)},
		Routes: []Route{{Prefix: "0.0.0.0/0", Gateway: k.Gateway}},
	}
	return Graph{
		Cell:       guestContainer,
		Nodes:      []Node{{Name: guestMachine}},
		Containers: []Container{{Name: guestContainer, Node: guestMachine}},
		Bridges: []Bridge{{
			Name: guestBridge, Node: guestMachine, Device: guestBridge, MTU: mtu, Addresses: []string{within(k.Gateway)},
		}},
		Links: []Link{{Name: guestContainer, Role: result.RoleEndpoint, Ends: [2]Interface{
			inside, {Place: guestMachine, Device: guestOutside, MTU: mtu, Bridge: guestBridge},
		}}},
	}, guestMachine, guestContainer
}

func (k *GuestContainer) clone() *GuestContainer {
	if k == nil {
		return nil
	}
	c := *k
	c.Publish = slices.Clone(k.Publish)
	return &c
}

// line says what it is, for configurations.
func (k GuestContainer) line() string {
	return fmt.Sprintf("in it a container, of no engine: %s behind the bridge %s (%s), whose ports %v the machine publishes by rules that rewrite addresses",
		k.Address, guestBridge, k.Gateway, k.Publish)
}

func (c *checker) guestContainer(owner string, k GuestContainer) {
	subnet, err := netip.ParsePrefix(k.Subnet)
	if err != nil || !subnet.Addr().Is4() || subnet.Masked() != subnet {
		c.fault("%s: the subnet %q of its container is not an IPv4 prefix, like 172.17.0.0/16", owner, k.Subnet)
	}
	for _, text := range []string{k.Gateway, k.Address} {
		if address, err := netip.ParseAddr(text); err != nil || !subnet.Contains(address) || k.Gateway == k.Address {
			c.fault("%s: its container and the bridge cannot have the addresses %q and %q in the subnet %q", owner, k.Address, k.Gateway, k.Subnet)
			break
		}
	}
	for _, port := range k.Publish {
		if port < 1 || port > 65535 {
			c.fault("%s: its container's port %d is not possible", owner, port)
		}
	}
}
