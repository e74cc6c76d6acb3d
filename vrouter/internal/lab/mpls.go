package lab

import (
	"errors"
	"net"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Tunnel is how one of the kernel's own devices carries MPLS.
type Tunnel struct {
	Name          string // of the device
	Local, Remote string
	Checksum      bool // of the outer UDP
}

func (t Tunnel) attributes() netlink.LinkAttrs {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = t.Name
	return attributes
}

const (
	portMPLS = 6635 // RFC 7510, section 5
	// ipMPLS is IPPROTO_MPLS (RFC 4023, section 3.1), which FOU gives what it takes out of UDP.
	ipMPLS = 137
	// flagChecksum is TUNNEL_ENCAP_FLAG_CSUM of linux/if_tunnel.h.
	flagChecksum = 1
	tunnelTTL    = 64
)

// need skips a test whose kernel has not got what a device or a route is made of.
func (n *Namespace) need(what string, err error) {
	n.t.Helper()
	for _, absent := range []error{unix.EOPNOTSUPP, unix.EAFNOSUPPORT, unix.ENOENT, unix.EPROTONOSUPPORT} {
		if errors.Is(err, absent) {
			n.t.Skipf("skip: needs %s: %v", what, err)
		}
	}
	n.Must("making "+what, err)
}

// FOU makes a device that puts MPLS into UDP and takes it out (Foo over UDP, net/ipv4/fou.c): an IP tunnel
// of any protocol.
func (n *Namespace) FOU(tunnel Tunnel) {
	n.t.Helper()
	flags := uint16(0)
	if tunnel.Checksum {
		flags = flagChecksum
	}
	var missing error
	n.Do(func() error {
		missing = netlink.FouAdd(netlink.Fou{Family: unix.AF_INET, Port: portMPLS, Protocol: ipMPLS, EncapType: netlink.FOU_ENCAP_DIRECT})
		return nil
	})
	n.need("FOU in the kernel (module fou)", missing)
	n.need("IP tunnels in the kernel (module ipip)", n.links.LinkAdd(&netlink.Iptun{
		LinkAttrs: tunnel.attributes(), Local: net.ParseIP(tunnel.Local), Remote: net.ParseIP(tunnel.Remote), Ttl: tunnelTTL, PMtuDisc: 1,
		EncapType: uint16(netlink.FOU_ENCAP_DIRECT), EncapFlags: flags, EncapDport: portMPLS,
	}))
	n.Up(tunnel.Name)
}

// GRE makes a device that puts MPLS into GRE.
func (n *Namespace) GRE(tunnel Tunnel) {
	n.t.Helper()
	n.need("GRE tunnels in the kernel (module ip_gre)", n.links.LinkAdd(&netlink.Gretun{
		LinkAttrs: tunnel.attributes(), Local: net.ParseIP(tunnel.Local), Remote: net.ParseIP(tunnel.Remote), Ttl: tunnelTTL, PMtuDisc: 1,
	}))
	n.Up(tunnel.Name)
}

// BareUDP makes a device that puts MPLS into UDP (Documentation/networking/bareudp.rst). It has no far end of
// its own: what leaves by it is told where to.
func (n *Namespace) BareUDP(tunnel Tunnel) {
	n.t.Helper()
	n.need("bareudp in the kernel (module bareudp)", n.links.LinkAdd(&netlink.BareUDP{
		LinkAttrs: tunnel.attributes(), Port: portMPLS, EtherType: unix.ETH_P_MPLS_UC, SrcPortMin: 49152,
	}))
	n.Up(tunnel.Name)
	index := n.Link(tunnel.Name).Attrs().Index
	n.need("clsact in the kernel (module sch_ingress)", n.links.QdiscAdd(&netlink.GenericQdisc{
		QdiscType:  "clsact",
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT},
	}))
	key := netlink.NewTunnelKeyAction()
	key.Action, key.SrcAddr, key.DstAddr = netlink.TCA_TUNNEL_KEY_SET, net.ParseIP(tunnel.Local), net.ParseIP(tunnel.Remote)
	n.need("tunnel keys in the kernel (modules cls_matchall, act_tunnel_key)", n.links.FilterAdd(&netlink.MatchAll{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: netlink.HANDLE_MIN_EGRESS, Priority: 1, Protocol: unix.ETH_P_ALL},
		Actions:     []netlink.Action{key},
	}))
}

// TakeMPLS lets an interface receive packets with a label, which are the namespace's own then.
func (n *Namespace) TakeMPLS(name string, label int) {
	n.t.Helper()
	var missing error
	n.Do(func() error {
		for file, value := range map[string]string{"platform_labels": "1000", "conf/" + name + "/input": "1"} {
			missing = errors.Join(missing, os.WriteFile("/proc/sys/net/mpls/"+file, []byte(value), 0o644))
		}
		return nil
	})
	n.need("MPLS routing in the kernel (module mpls_router)", missing)
	n.need("MPLS routing in the kernel (module mpls_router)", n.links.RouteAdd(&netlink.Route{
		LinkIndex: n.Link("lo").Attrs().Index, MPLSDst: &label,
	}))
}

// Label leads an address by an interface, under a label.
func (n *Namespace) Label(name, address string, label int) {
	n.t.Helper()
	bits := 32
	if strings.Contains(address, ":") {
		bits = 128
	}
	n.need("MPLS routing in the kernel (module mpls_iptunnel)", n.links.RouteAdd(&netlink.Route{
		LinkIndex: n.Link(name).Attrs().Index, Dst: &net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(bits, bits)},
		Encap: &netlink.MPLSEncap{Labels: []int{label}},
	}))
}
