package kernel

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// vxlanSocket is a kernel's VXLAN socket in the vRouter's network namespace. GRO asks the socket of
// a UDP port how to look into the tunnel (udp_gro_receive in net/ipv4/udp_offload.c), so with it VXLAN
// packets reach tc in aggregates. It never gets a packet itself: tc takes all that are the vRouter's.
//
// The device behind it lives in a namespace that nobody but this process holds, and so it ends with
// the process, however that ends.
type vxlanSocket struct{ hidden netns.NsHandle }

const portVXLAN = 4789 // RFC 7348, section 8

// openVXLANSocket makes it, or none where a VXLAN device of the host has the port: that one's socket
// does as well.
func openVXLANSocket() (*vxlanSocket, error) {
	hidden, err := newNamespace()
	if err != nil {
		return nil, err
	}
	if err = addVXLAN(hidden); err == nil {
		return &vxlanSocket{hidden}, nil
	}
	hidden.Close()
	if errors.Is(err, unix.EEXIST) {
		return nil, nil
	}
	return nil, err
}

func (s *vxlanSocket) close() error { return s.hidden.Close() }

// newNamespace makes one on a thread that ends with it.
func newNamespace() (netns.NsHandle, error) {
	type made struct {
		handle netns.NsHandle
		err    error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread()
		handle, err := netns.New()
		done <- made{handle, err}
	}()
	m := <-done
	if m.err != nil {
		return netns.None(), fmt.Errorf("making a network namespace: %w", m.err)
	}
	return m.handle, nil
}

// addVXLAN makes a device there whose socket is here: a tunnel device's underlay is the namespace
// that it is made from (vxlan_newlink in drivers/net/vxlan/vxlan_core.c). Of all VNIs, since it takes
// none.
func addVXLAN(hidden netns.NsHandle) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.Namespace = "vrouter-gro", netlink.NsFd(hidden)
	if err := netlink.LinkAdd(&netlink.Vxlan{LinkAttrs: attributes, FlowBased: true, Port: portVXLAN}); err != nil {
		return fmt.Errorf("making a VXLAN device: %w", err)
	}
	links, err := netlink.NewHandleAt(hidden, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("opening netlink: %w", err)
	}
	defer links.Close()
	device, err := links.LinkByName(attributes.Name)
	if err != nil {
		return fmt.Errorf("finding the VXLAN device: %w", err)
	}
	if err := links.LinkSetUp(device); err != nil {
		return fmt.Errorf("opening the VXLAN socket: %w", err)
	}
	return nil
}
