package kernel

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// A veth gives a frame of XDP one page, of which the headroom, the end of an skb and the Ethernet header
// take so much (veth_xdp_set in drivers/net/veth.c; struct skb_shared_info has 320 bytes). What is left
// bounds the other end's MTU.
const vethXDPTakes = 256 + 320 + 14

// xdpRefused says what to do when a driver takes no XDP program because of an MTU.
func xdpRefused(ifindex uint32, err error) error {
	if !errors.Is(err, unix.ERANGE) {
		return err
	}
	driver, _, driverErr := driverOf(ifindex)
	if driverErr == nil && driver == "veth" {
		return fmt.Errorf("%w: a veth takes XDP while the MTU of its other end is at most %d; lower it there (`ip link set IF mtu %d`)",
			err, os.Getpagesize()-vethXDPTakes, os.Getpagesize()-vethXDPTakes)
	}
	mtu := 0
	if device, err := net.InterfaceByIndex(int(ifindex)); err == nil {
		mtu = device.MTU
	}
	return fmt.Errorf("%w: the driver takes XDP with a smaller MTU than %d only; lower it (`ip link set IF mtu N`)", err, mtu)
}
