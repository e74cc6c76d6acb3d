//go:build linux

// Package look reads what a network stack has: its interfaces, how they hang together, and what works on their
// packets. It changes nothing.
package look

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// Around reads the caller's network stack. What may not be read is left out.
func Around() (testbed.Seen, error) {
	var seen testbed.Seen
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		seen.Machine = strings.TrimSpace(string(boot))
	}
	seen.Stack, _ = os.Readlink("/proc/thread-self/ns/net")
	links, err := netlink.LinkList()
	if err != nil {
		return seen, fmt.Errorf("listing the interfaces: %w", err)
	}
	if seen.More = max(0, len(links)-testbed.MaxSeenLinks); seen.More > 0 {
		links = links[:testbed.MaxSeenLinks]
	}
	tool, err := ethtool.Open()
	if err == nil {
		defer tool.Close()
	}
	leaves := defaultLinks()
	for _, link := range links {
		one := basics(link)
		one.Default = leaves[one.Index]
		if tool != nil {
			offloads(tool, &one)
		}
		one.Programs = programs(link)
		seen.Links = append(seen.Links, one)
	}
	return seen, nil
}

// basics are what one message of the kernel's tells of a link, and its addresses.
func basics(link netlink.Link) testbed.SeenLink {
	a := link.Attrs()
	one := testbed.SeenLink{Name: a.Name, Index: a.Index, Kind: link.Type(), MTU: a.MTU, Up: a.Flags&net.FlagUp != 0, Master: a.MasterIndex,
		Parent: a.ParentIndex, Elsewhere: a.NetNsID >= 0, Detail: detail(link)}
	if a.ParentIndex == a.Index && !one.Elsewhere {
		one.Parent = 0
	}
	if tunnel, ok := link.(*netlink.Vxlan); ok {
		one.Parent = tunnel.VtepDevIndex
	}
	addresses, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return one
	}
	for _, address := range addresses {
		if address.IPNet != nil && !address.IP.IsLinkLocalUnicast() {
			one.Addresses = append(one.Addresses, address.IPNet.String())
		}
	}
	return one
}

// detail is what distinguishes a link of its kind.
func detail(link netlink.Link) string {
	switch l := link.(type) {
	case *netlink.Vxlan:
		return strings.TrimSpace(fmt.Sprintf("VNI %d, UDP port %d%s%s", l.VxlanId, l.Port, toward(", from ", l.SrcAddr), toward(", to ", l.Group)))
	case *netlink.Geneve:
		return fmt.Sprintf("VNI %d, UDP port %d%s", l.ID, l.Dport, toward(", to ", l.Remote))
	case *netlink.Gretun:
		return "GRE" + toward(", from ", l.Local) + toward(", to ", l.Remote)
	case *netlink.Gretap:
		return "GRE" + toward(", from ", l.Local) + toward(", to ", l.Remote)
	case *netlink.Iptun:
		return "IP in IP" + toward(", from ", l.Local) + toward(", to ", l.Remote)
	case *netlink.Vlan:
		return fmt.Sprintf("VLAN %d", l.VlanId)
	case *netlink.Bond:
		return "mode " + l.Mode.String()
	case *netlink.Bridge:
		if l.VlanFiltering != nil && *l.VlanFiltering {
			return "filters VLANs"
		}
	}
	return ""
}

func toward(word string, ip net.IP) string {
	if len(ip) == 0 || ip.IsUnspecified() {
		return ""
	}
	return word + ip.String()
}

// offloads reads what joins and cuts packets at a link.
func offloads(tool *ethtool.Socket, one *testbed.SeenLink) {
	if one.Kind == "device" {
		one.Driver, _ = tool.Driver(one.Name)
	}
	have, err := tool.Features(one.Name)
	if err != nil {
		return
	}
	for _, offload := range []struct{ name, feature string }{
		{"TSO", "tx-tcp-segmentation"}, {"GSO", "tx-generic-segmentation"}, {"GRO", "rx-gro"},
	} {
		if on, known := have[offload.feature]; known && on {
			one.On = append(one.On, offload.name)
		} else if known {
			one.Off = append(one.Off, offload.name)
		}
	}
}

// defaultLinks are the links by which packets for anywhere leave.
func defaultLinks() map[int]bool {
	all := map[int]bool{}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return all
	}
	for _, r := range routes {
		anywhere := r.Dst == nil
		if r.Dst != nil {
			ones, _ := r.Dst.Mask.Size()
			anywhere = ones == 0
		}
		if anywhere {
			all[r.LinkIndex] = true
			for _, hop := range r.MultiPath {
				all[hop.LinkIndex] = true
			}
		}
	}
	return all
}

// Namespaces are the machine's named network namespaces (ip-netns(8)), as paths.
func Namespaces() []string {
	found, _ := filepath.Glob("/run/netns/*")
	slices.Sort(found)
	return found
}
