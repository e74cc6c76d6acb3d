package traffic

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// SetBuffers asks for a socket's buffers, in bytes; 0 leaves one to the kernel's tuning. It goes over net.core.[rw]mem_max
// where that is permitted; what a kernel cuts to those is no error.
func SetBuffers(fd, send, receive int) error {
	set := func(force, plain, size int) error {
		if size == 0 || unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) == nil {
			return nil
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, size); err != nil {
			return fmt.Errorf("setting a socket buffer of %d bytes: %w", size, err)
		}
		return nil
	}
	return errors.Join(set(unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, send), set(unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receive))
}
