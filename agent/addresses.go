package agent

import (
	"fmt"
	"net"
	"net/netip"

	"windtunnel/agent/proto"
)

// maxAddresses bounds how many addresses a place tells of.
const maxAddresses = 256

// addressesHere are those at which traffic can come to the caller's network stack, with the interfaces' names as
// device has them, and whether packets for anywhere leave by one.
func addressesHere(device func(net.Interface) string, leaves func(net.Interface) bool) ([]proto.Address, error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing the interfaces: %w", err)
	}
	var all []proto.Address
	for _, link := range links {
		addresses, err := link.Addrs()
		if err != nil || link.Flags&net.FlagUp == 0 || link.Flags&net.FlagLoopback != 0 {
			continue
		}
		for _, a := range addresses {
			prefix, err := netip.ParsePrefix(a.String())
			if err == nil && prefix.Addr().IsGlobalUnicast() && len(all) < maxAddresses {
				all = append(all, proto.Address{Device: device(link), Prefix: prefix.String(), MTU: link.MTU, Default: leaves(link)})
			}
		}
	}
	return all, nil
}

// localAddress is the one from which packets to another address would leave, by the system's routes. No packet is
// sent: a UDP socket that connects only chooses its way.
func localAddress(to netip.Addr) (netip.Addr, error) {
	const discard = 9 // RFC 863
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, discard)))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("finding the way to %s: %w", to, err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}
