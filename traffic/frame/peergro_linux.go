package frame

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"windtunnel/ethtool"
)

// A veth drops every live frame unless its peer has a NAPI: XDP attached natively,
// or GRO on (veth_xdp_xmit in drivers/net/veth.c).
const featureGRO = "rx-gro"

// peerOf finds the other end of a veth in this namespace.
func peerOf(d device) (string, error) {
	link, err := netlink.LinkByIndex(d.index)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", d.name, err)
	}
	if link.Type() != "veth" {
		return "", fmt.Errorf("%s is no veth", d.name)
	}
	if link.Attrs().NetNsID >= 0 {
		return "", fmt.Errorf("the other end of %s (interface %d) is in another namespace: switch GRO on there (`ethtool -K PEER gro on`) for live frames", d.name, link.Attrs().ParentIndex)
	}
	peer, err := netlink.LinkByIndex(link.Attrs().ParentIndex)
	if err != nil {
		return "", fmt.Errorf("finding the other end of %s: %w", d.name, err)
	}
	return peer.Attrs().Name, nil
}

// openPeer switches GRO on at a veth's peer, and returns what puts it back. A
// process that is killed by force leaves it on.
func openPeer(d device) (restore func() error, err error) {
	peer, err := peerOf(d)
	if err != nil {
		return nil, err
	}
	tool, err := ethtool.Open()
	if err != nil {
		return nil, fmt.Errorf("opening ethtool: %w", err)
	}
	defer tool.Close()
	features, err := tool.Features(peer)
	if err != nil {
		return nil, fmt.Errorf("reading the features of %s: %w", peer, err)
	}
	if features[featureGRO] {
		return nil, fmt.Errorf("the other end of %s, %s, has GRO on already", d.name, peer)
	}
	if err := tool.Change(peer, map[string]bool{featureGRO: true}); err != nil {
		return nil, fmt.Errorf("switching GRO on at %s: %w", peer, err)
	}
	return func() error { return closePeer(peer) }, nil
}

func closePeer(peer string) error {
	tool, err := ethtool.Open()
	if err != nil {
		return fmt.Errorf("opening ethtool: %w", err)
	}
	defer tool.Close()
	if err := tool.Change(peer, map[string]bool{featureGRO: false}); err != nil {
		return fmt.Errorf("switching GRO off at %s again: %w", peer, err)
	}
	return nil
}
