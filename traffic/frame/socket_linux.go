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
		return -1, fmt.Errorf("opening an AF_PACKET socket: %w%s", err, needs(err))
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

// needs is what to do about an error of permission.
func needs(err error) string {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return "; frame needs root, or CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, in the endpoint's namespace"
	}
	return ""
}
