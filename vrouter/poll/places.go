package poll

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
)

// CanOpen refuses devices that cannot be had, before anything is changed: interfaces of another vRouter, by
// their numbers, and what is no interface. Those that are open already are this vRouter's own.
func (p *Plane) CanOpen(c config.Config, interfaces []uint32) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.silence.mayTake(interfaces); err != nil {
		return err
	}
	ours := make(map[string]bool)
	for _, at := range p.attached {
		ours[at.Interface] = ours[at.Interface] || at.Netns == ""
	}
	for _, port := range c.Ports {
		at := port.Attachment(0, 0)
		if ours[at.Interface] {
			continue
		}
		if err := canOpen(at); err != nil {
			return fmt.Errorf("port %s: %w", port.Name, err)
		}
	}
	if c.Fabric.Device == nil || ours[c.Fabric.Device.Place()] {
		return nil
	}
	if err := canOpen(c.Fabric.Attachment(0, 0)); err != nil {
		return fmt.Errorf("the fabric: %w", err)
	}
	return nil
}

// canOpen looks whether a device is there and free, as far as that can be told before.
func canOpen(at config.Attachment) error {
	switch {
	case at.Driver.IsSocket():
		_, err := staleSocket(at)
		return err
	case at.Driver == config.DriverPCI:
		return pciFree(pciDevices, vfioGroups, at.Interface)
	case at.Driver == config.DriverXDP:
		return xdpFree(at.Interface)
	}
	return nil
}

// clearSocket takes away the file of a socket that nobody listens at, for DPDK to make its own: a
// process that was killed leaves such files.
func clearSocket(at config.Attachment) error {
	stale, err := staleSocket(at)
	if err != nil || !stale {
		return err
	}
	if err := os.Remove(at.Interface); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("taking away the socket %s, which nobody listens at: %w", at.Interface, err)
	}
	return nil
}

// staleSocket tells whether a socket is in the way at whose other end is nobody. What else is in the
// way is somebody's, and an error.
func staleSocket(at config.Attachment) (bool, error) {
	folder := filepath.Dir(at.Interface)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return false, fmt.Errorf("the folder %s of the vhost-user socket is not there; make it first", folder)
	}
	if !at.Driver.Listens() {
		return false, nil
	}
	switch info, err := os.Lstat(at.Interface); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking for the vhost-user socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return false, fmt.Errorf("%s is there already, and no socket; name another path for the vhost-user socket", at.Interface)
	}
	connection, err := net.Dial("unix", at.Interface)
	if err == nil {
		connection.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return false, fmt.Errorf(`somebody else listens at the socket %s; name another path, or "vhost_mode": "client" if that is the other side`, at.Interface)
	}
	return true, nil
}

// Links tells of each vhost-user port, by its vif, whether its other side is there. The fabric is vif 0.
func (p *Plane) Links() map[uint32]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := make(map[uint32]bool)
	for vif, at := range p.attached {
		if !at.Driver.IsSocket() {
			continue
		}
		links[vif] = false // also while there is no process, or it does not answer: Problem says so
		if p.process != nil && p.process.alive() {
			links[vif], _ = p.process.linked(vif)
		}
	}
	return links
}
