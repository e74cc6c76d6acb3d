package control

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/kernel"
)

// A machine answers, by netlink, what the configuration leaves open. /sys/class/net would not do:
// sysfs shows the namespace that it was mounted in.
type machine struct {
	handle *netlink.Handle
	peer   bool // bpf_redirect_peer is there
}

func openMachine() (machine, error) {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return machine{}, fmt.Errorf("opening netlink: %w", err)
	}
	return machine{handle: handle, peer: kernel.HaveRedirectPeer()}, nil
}

func (m machine) close() { m.handle.Close() }

// facts gathers what an image needs. Interfaces of ports that are not there are left out.
func (m machine) facts(c config.Config) (config.Facts, error) {
	fabric, err := m.handle.LinkByName(c.Fabric.Interface)
	if err != nil {
		return config.Facts{}, fmt.Errorf("finding the fabric's interface %q in this network namespace: %w; `ip link` lists what there is", c.Fabric.Interface, err)
	}
	attributes := fabric.Attrs()
	if !isEthernet(fabric) {
		return config.Facts{}, fmt.Errorf("the fabric's interface %q is no Ethernet interface", c.Fabric.Interface)
	}
	neighbours, err := m.neighbours(c, fabric)
	if err != nil {
		return config.Facts{}, err
	}
	facts := config.Facts{
		FabricIfindex: uint32(attributes.Index), FabricMTU: uint32(attributes.MTU), FabricMAC: config.MAC(attributes.HardwareAddr),
		Interfaces: make(map[string]config.Interface), Neighbours: neighbours,
	}
	return facts, m.ports(c, &facts)
}

// hasAddresses says what is missing of the node's addresses. The tables do not depend on it, but other
// nodes would not find this one.
func (m machine) hasAddresses(c config.Config) error {
	fabric, err := m.handle.LinkByName(c.Fabric.Interface)
	if err != nil {
		return fmt.Errorf("finding the fabric's interface %q: %w", c.Fabric.Interface, err)
	}
	return errors.Join(m.hasAddress(fabric, c.Fabric.Address), m.hasAddress(fabric, c.Fabric.Address6))
}

func (m machine) hasAddress(fabric netlink.Link, address netip.Addr) error {
	if !address.IsValid() {
		return nil
	}
	name, length := fabric.Attrs().Name, 24
	if address.Is6() {
		length = 64
		if mtu := fabric.Attrs().MTU; mtu < minMTU6 {
			return fmt.Errorf("the fabric's interface %s has an MTU of %d, and no IPv6 below %d (RFC 8200, section 5); `ip link set %s mtu 1500`", name, mtu, minMTU6, name)
		}
	}
	addresses, err := whole(func() ([]netlink.Addr, error) { return m.handle.AddrList(fabric, familyOf(address)) })
	if err != nil {
		return fmt.Errorf("listing the addresses of %s: %w", name, err)
	}
	for _, a := range addresses {
		if !a.IP.Equal(net.IP(address.AsSlice())) {
			continue
		}
		if a.Flags&unix.IFA_F_DADFAILED != 0 { // RFC 4862, section 5.4.5
			return fmt.Errorf("the address %s of %s is another node's, too: duplicate address detection has failed; give one of the nodes another", address, name)
		}
		return nil
	}
	return fmt.Errorf("the fabric's interface %s has no address %s; `ip address add %s/%d dev %s`", name, address, address, length, name)
}

// minMTU6: with a smaller one, the kernel takes IPv6 off an interface.
const minMTU6 = 1280

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

// addressOf is an address as the kernel gives it.
func addressOf(ip net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(ip)
	return a.Unmap(), ok
}

func (m machine) ports(c config.Config, facts *config.Facts) error {
	links, err := whole(m.handle.LinkList)
	if err != nil {
		return fmt.Errorf("listing the interfaces: %w", err)
	}
	byName := make(map[string]netlink.Link, len(links))
	for _, l := range links {
		byName[l.Attrs().Name] = l
	}
	for _, p := range c.Ports {
		if p.Interface == "" { // the vRouter makes it, or finds it by itself
			facts.Interfaces[p.Place()] = config.Interface{MTU: p.DeviceMTU()}
		} else if l := byName[p.Interface]; l != nil && isEthernet(l) {
			facts.Interfaces[p.Interface] = config.Interface{
				Ifindex: uint32(l.Attrs().Index), MTU: uint32(l.Attrs().MTU), Peer: m.peer && elsewhere(l),
			}
		}
	}
	return nil
}

// isEthernet: not the loopback device, though that has six zeros for an address, and no device of bare IP.
func isEthernet(l netlink.Link) bool {
	return len(l.Attrs().HardwareAddr) == 6 && l.Attrs().EncapType == "ether"
}

// mayTake says why an interface cannot be a port's.
func (m machine) mayTake(p config.Port) error {
	link, err := m.handle.LinkByName(p.Interface)
	switch {
	case err != nil:
		return fmt.Errorf("port %s: there is no interface %q in this network namespace; make the veth first", p.Name, p.Interface)
	case !isEthernet(link):
		return fmt.Errorf("port %s: the interface %q is no Ethernet interface; give it a veth or a tap", p.Name, p.Interface)
	}
	return nil
}

// whole is [kernel.Whole], and takes a list that changed each time: better than nothing; there is another look soon.
func whole[T any](list func() ([]T, error)) ([]T, error) {
	all, err := kernel.Whole(list)
	if errors.Is(err, netlink.ErrDumpInterrupted) {
		err = nil
	}
	return all, err
}

// elsewhere: a veth whose other end is in another namespace; bpf_redirect_peer drops otherwise.
func elsewhere(l netlink.Link) bool {
	return l.Type() == "veth" && l.Attrs().NetNsID >= 0
}
