package frame

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// openPacket makes a raw socket at a device; protocol 0 receives nothing.
func openPacket(index int, protocol uint16) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening an AF_PACKET socket: %w", err)
	}
	bound := unix.NsecToTimeval(patience.Nanoseconds())
	for _, option := range []int{unix.SO_SNDTIMEO, unix.SO_RCVTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &bound); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("bounding a socket's calls: %w", err)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index, Protocol: protocol<<8 | protocol>>8}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("binding an AF_PACKET socket to interface %d: %w", index, err)
	}
	return fd, nil
}

// privileged adds to an error what to do about it if it is one of permission. Whoever tries several ways in turn asks for
// that once, about all of them. Without CAP_PERFMON the kernel lets no BPF program calculate with pointers.
func privileged(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w; frame needs root, or CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON, in the endpoint's namespace", err)
	}
	return err
}
