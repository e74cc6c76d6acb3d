package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// What the kernel says of an interface's XDP: enum netdev_xdp_act of linux/netdev.h.
const (
	xdpBasic    = 1 << 0
	xdpRedirect = 1 << 1
	xdpTransmit = 1 << 2 // ndo_xdp_xmit: it takes frames that are redirected to it
)

// The generic netlink family netdev (Documentation/netlink/specs/netdev.yaml), Linux 6.3.
const (
	netdevFamily      = "netdev"
	netdevGroup       = "mgmt"
	netdevGet         = 1
	netdevIfindex     = 1
	netdevXDPFeatures = 3
)

// netdev is the family as this kernel numbers it, asked for once: it is no module's.
var netdev = sync.OnceValues(func() (*netlink.GenlFamily, error) { return netlink.GenlFamilyGet(netdevFamily) })

// genlHeader is struct genlmsghdr: command, version, and two bytes that must be 0, which the library's
// own does not promise.
type genlHeader [nl.SizeofGenlmsg]byte

// Len is its length.
func (genlHeader) Len() int { return nl.SizeofGenlmsg }

// Serialize gives its bytes.
func (h genlHeader) Serialize() []byte { return h[:] }

// xdpFeatures asks what the XDP of an interface's driver can do. A veth takes redirected frames only
// while its other end has a NAPI (veth_xdp_xmit in drivers/net/veth.c), about which that end's
// namespace decides; so the answer changes. The kernel's list of all interfaces is not asked for:
// its parts are not marked as such (NLM_F_MULTI), and the library stops after the first.
func xdpFeatures(ifindex uint32) (uint64, error) {
	family, err := netdev()
	if err != nil {
		return 0, fmt.Errorf("asking what the driver's XDP can do: %w (it needs Linux 6.3)", err)
	}
	request := nl.NewNetlinkRequest(int(family.ID), 0)
	request.AddData(genlHeader{netdevGet, 1})
	request.AddData(nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(ifindex)))
	replies, err := request.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return 0, fmt.Errorf("asking what the driver's XDP can do: %w", err)
	}
	for _, reply := range replies {
		attributes, err := nl.ParseRouteAttr(reply[nl.SizeofGenlmsg:])
		if err != nil {
			return 0, fmt.Errorf("reading what the driver's XDP can do: %w", err)
		}
		for _, a := range attributes {
			if a.Attr.Type == netdevXDPFeatures && len(a.Value) >= 8 {
				return binary.NativeEndian.Uint64(a.Value), nil
			}
		}
	}
	return 0, nil
}

// XDPChanges gives a sign whenever the kernel says that some interface's XDP can do something else
// than before, until stop is called. Without the family, it never does.
func XDPChanges(sign func()) (stop func()) {
	family, err := netdev()
	if err != nil {
		return func() {}
	}
	for _, group := range family.Groups {
		if group.Name != netdevGroup {
			continue
		}
		socket, err := nl.Subscribe(unix.NETLINK_GENERIC)
		if err != nil {
			return func() {}
		}
		if err := unix.SetsockoptInt(socket.GetFd(), unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, int(group.ID)); err != nil {
			socket.Close()
			return func() {}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				// ENOBUFS is that more happened than was read in time (netlink(7)).
				if _, _, err := socket.Receive(); err != nil && !errors.Is(err, unix.ENOBUFS) {
					return
				}
				sign()
			}
		}()
		return func() { socket.Close(); <-done }
	}
	return func() {}
}
