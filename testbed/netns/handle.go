package netns

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// handle is a route netlink socket of the stack on whose thread it was opened.
type handle struct{ *netlink.Handle }

// withLinks opens a handle for f. It is called on a stack's thread; a socket keeps
// its namespace alive, so it is closed again at once.
func withLinks(f func(*handle) error) error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer h.Close()
	return f(&handle{h})
}

// up brings a device up.
func (h *handle) up(device string) error {
	link, err := h.LinkByName(device)
	if err != nil {
		return fmt.Errorf("finding %s: %w", device, err)
	}
	if err := h.LinkSetUp(link); err != nil {
		return fmt.Errorf("bringing %s up: %w", device, err)
	}
	return nil
}

// delete removes a device; one that is gone is removed already.
func (h *handle) delete(device string) error {
	link, err := h.LinkByName(device)
	if missing(err) {
		return nil
	}
	if err == nil {
		err = h.LinkDel(link)
	}
	if err != nil && !missing(err) {
		return fmt.Errorf("removing %s: %w", device, err)
	}
	return nil
}

// has tells whether the stack has a device.
func (h *handle) has(device string) (bool, error) {
	_, err := h.LinkByName(device)
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

func missing(err error) bool {
	var notFound netlink.LinkNotFoundError
	return errors.As(err, &notFound) || errors.Is(err, unix.ENODEV)
}
