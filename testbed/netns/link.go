package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// peerDeadline is how long a node waits for its end of a wire to appear: the
// other node has made it already if the graph is applied in order.
const peerDeadline = 5 * time.Second

// makeLink makes a virtual Ethernet pair, or waits for the other node's, and
// configures the ends that are this node's.
func (c *cell) makeLink(ctx context.Context, l testbed.Link) error {
	near, far := l.Ends[0], l.Ends[1]
	if l.Kind == testbed.WireNetwork {
		return c.adopt(l)
	}
	if _, _, ok := c.graph.InVM(near.Place); ok {
		return c.here(far.Place, func() error { return c.makeTap(far) })
	}
	if stack := c.stacks[near.Place]; stack != nil && l.Kind == testbed.LinkTap {
		if err := makeTap(stack, near); err != nil {
			return err
		}
	} else if stack != nil {
		if err := c.makePair(stack, near, far); err != nil {
			return err
		}
	} else if c.stacks[far.Place] == nil {
		return nil // another node's
	} else if err := c.awaitEnd(ctx, far); err != nil {
		return err
	}
	for _, end := range l.Interfaces() {
		if c.stacks[end.Place] == nil {
			continue
		}
		if err := c.configure(end); err != nil {
			return err
		}
	}
	return nil
}

// makePair makes both ends at once, each in its own namespace and under its own
// name, so that neither name is ever taken elsewhere.
func (c *cell) makePair(stack *Stack, near, far testbed.Interface) error {
	path := c.peers[far.Place]
	if other := c.stacks[far.Place]; other != nil {
		path = other.Path()
	}
	if path == "" {
		return fmt.Errorf("the stack of %s is unknown: place the graph on its node first and hand its path in", far.Place)
	}
	there, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("opening the stack of %s: %w", far.Place, err)
	}
	defer there.Close()
	pair := &netlink.Veth{LinkAttrs: attributes(near), PeerName: far.Device, PeerNamespace: netlink.NsFd(there)}
	pair.PeerNumTxQueues, pair.PeerNumRxQueues = queues(far), queues(far)
	pair.PeerMTU = uint32(far.MTU)
	if pair.PeerHardwareAddr, err = hardware(far.MAC); err != nil {
		return err
	}
	return stack.Do(func() error {
		return withLinks(func(h *handle) error { return h.LinkAdd(pair) })
	})
}

// makeTap makes an interface that stays until its stack goes, and has no carrier while no program has it open.
func makeTap(stack *Stack, near testbed.Interface) error {
	tap := &netlink.Tuntap{LinkAttrs: attributes(near), Mode: netlink.TUNTAP_MODE_TAP, Flags: netlink.TUNTAP_NO_PI | netlink.TUNTAP_VNET_HDR}
	return stack.Do(func() error {
		if err := netlink.LinkAdd(tap); err != nil {
			return fmt.Errorf("making a tap (`modprobe tun`): %w", err)
		}
		return nil
	})
}

func attributes(i testbed.Interface) netlink.LinkAttrs {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = i.Device, i.MTU
	attrs.NumTxQueues, attrs.NumRxQueues = int(queues(i)), int(queues(i))
	attrs.HardwareAddr, _ = hardware(i.MAC) // the graph is validated
	return attrs
}

func queues(i testbed.Interface) uint32 { return uint32(max(i.Queues, 1)) }

func hardware(mac string) (net.HardwareAddr, error) {
	if mac == "" {
		return nil, nil
	}
	return net.ParseMAC(mac)
}

// awaitEnd waits until the other node has put this node's end of a wire here: a
// new one, if there was one before that is being made anew.
func (c *cell) awaitEnd(ctx context.Context, end testbed.Interface) error {
	key := end.Place + "/" + end.Device
	err := await(ctx, peerDeadline, func() error {
		return c.onDevice(end, func(_ *handle, device netlink.Link, _ testbed.Interface) error {
			if index := device.Attrs().Index; index != c.ends[key] {
				c.ends[key] = index
				return nil
			}
			return errors.New("only the one of before is there")
		})
	})
	if err != nil {
		return fmt.Errorf("waiting for %s, which the other node makes (apply the graph there too): %w", key, err)
	}
	return nil
}

// makeBridge makes a bridge that forwards from the first packet on: no spanning
// tree (the kernel's default), no delay, no snooping.
func (c *cell) makeBridge(b testbed.Bridge) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = b.Device
	off := false
	bridge := &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &off}
	stack := c.stacks[b.Node]
	err := stack.Do(func() error {
		if err := withLinks(func(h *handle) error { return h.LinkAdd(bridge) }); err != nil {
			return err
		}
		delay := fmt.Sprintf("%s/class/net/%s/bridge/forward_delay", stack.sysfs, b.Device)
		return os.WriteFile(delay, []byte("0"), 0)
	})
	if err != nil {
		return err
	}
	return c.configure(testbed.Interface{Place: b.Node, Device: b.Device, MTU: b.MTU, Offloads: b.Offloads, Addresses: b.Addresses})
}

// makeVXLAN makes a VXLAN device whose one remote takes everything, so nothing is
// learnt. Outer UDP checksums are zero, as RFC 7348 section 5 asks.
func (c *cell) makeVXLAN(v testbed.VXLAN) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = v.Device, v.MTU
	err := c.stacks[v.Node].Do(func() error {
		return withLinks(func(h *handle) error {
			underlay, err := h.LinkByName(v.Underlay)
			if err != nil {
				return fmt.Errorf("finding the underlay %s: %w", v.Underlay, err)
			}
			return h.LinkAdd(&netlink.Vxlan{
				LinkAttrs: attrs, VxlanId: v.VNI, VtepDevIndex: underlay.Attrs().Index,
				SrcAddr: net.ParseIP(v.Local), Group: net.ParseIP(v.Remote), Port: v.Port,
			})
		})
	})
	if err := vxlanMissing(err); err != nil {
		return err
	}
	return c.configure(testbed.Interface{
		Place: v.Node, Device: v.Device, MTU: v.MTU, Bridge: v.Bridge, Offloads: v.Offloads,
	})
}

// vxlanMissing explains the kernel's refusal of an unknown kind of link.
func vxlanMissing(err error) error {
	if err == unix.EOPNOTSUPP {
		return fmt.Errorf("this kernel has no VXLAN devices (CONFIG_VXLAN): %w", err)
	}
	return err
}
