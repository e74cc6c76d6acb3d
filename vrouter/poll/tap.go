package poll

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
)

// openTap makes an interface, or takes one that somebody made (`ip tuntap add`), whose other side is the
// file. The agent keeps it, so that the interface outlives the poll mode's process, wherever it was
// moved to; when both have ended, it is gone, unless somebody else made it to stay.
//
// DPDK's own driver (net_tap) opens an interface by its name: it would lose one that was moved into a
// container, and the container its interface with each process that ends.
func openTap(at config.Attachment) (file *os.File, err error) {
	if at.Netns == "" {
		return openTapHere(at)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the namespace that it went into
		err := enter(at.Netns)
		if err == nil {
			file, err = openTapHere(at)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		return nil, fmt.Errorf("in the network namespace %s: %w", at.Netns, err)
	}
	return file, nil
}

// enter brings the calling thread into a network namespace. What the path names is opened without waiting, as
// it may be anything.
func enter(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("opening it: %w; `ip netns add` makes one under /run/netns, and a process has its own at /proc/PID/ns/net", err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("going there: %w; is it the file of a network namespace?", err)
	}
	return nil
}

// openTapHere does so in the network namespace of the calling thread. Packets have a header in front of them
// that says what of them is left to a device (IFF_VNET_HDR).
func openTapHere(at config.Attachment) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/net/tun: %w; `modprobe tun`", err)
	}
	err = takeTap(fd, at.Interface, 0)
	if errors.Is(err, unix.EINVAL) { // one that was made with several queues
		err = takeTap(fd, at.Interface, unix.IFF_MULTI_QUEUE)
	}
	if err == nil && at.MTU != 0 {
		err = dress(at)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), at.Interface), nil
}

func takeTap(fd int, name string, more uint16) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return fmt.Errorf("the interface %q: %w", name, err)
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR | more)
	switch err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("the tap %s is somebody else's already; name another, or end who holds it", name)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("the interface %s is no tap, or one of another kind (%w); `ip tuntap add %s mode tap` makes one", name, err, name)
	case err != nil:
		return fmt.Errorf("making the tap %s: %w; root is needed", name, err)
	}
	return nil
}

// dress gives a port's tap the container's MAC address, and its MTU.
func dress(at config.Attachment) error {
	link, err := netlink.LinkByName(at.Interface)
	if err == nil {
		err = errors.Join(netlink.LinkSetHardwareAddr(link, at.MAC[:]), netlink.LinkSetMTU(link, int(at.MTU)))
	}
	if err != nil {
		return fmt.Errorf("setting up the tap %s: %w", at.Interface, err)
	}
	return nil
}
