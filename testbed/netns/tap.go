package netns

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// makeTap makes the node's end of a VM's link. It stays without a program that holds it, until the stack
// goes: QEMU opens it by its name, and gives it its carrier.
func (c *cell) makeTap(p testbed.Interface) error {
	err := c.stacks[p.Place].Do(func() error { return persistentTap(p.Device, p.Queues > 1) })
	if err != nil {
		return err
	}
	return c.configure(p)
}

// persistentTap makes a tap in the stack of the calling thread. Whoever opens it says the same of its
// queues (tun_set_iff in drivers/net/tun.c).
func persistentTap(device string, queues bool) (err error) {
	tun, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening /dev/net/tun (CONFIG_TUN): %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(tun)) }()
	request, err := unix.NewIfreq(device)
	if err != nil {
		return fmt.Errorf("naming the tap %s: %w", device, err)
	}
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if queues {
		flags |= unix.IFF_MULTI_QUEUE
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(tun, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("making the tap %s: %w", device, err)
	}
	if err := unix.IoctlSetInt(tun, unix.TUNSETPERSIST, 1); err != nil {
		return fmt.Errorf("keeping the tap %s: %w", device, err)
	}
	return nil
}

func tryTap(*Stack) error {
	return withLinks(func(h *handle) error {
		return errors.Join(persistentTap("trytap", false), h.delete("trytap"))
	})
}
