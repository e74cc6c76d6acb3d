package traffic

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// SetBuffers asks for a socket's buffers, in bytes; 0 leaves one to the kernel's tuning. It goes over net.core.[rw]mem_max
// where that is permitted; what a kernel cuts to those is no error.
func SetBuffers(fd, send, receive int) error {
	set := func(force, plain, size int) error {
		if size == 0 || unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) == nil {
			return nil
		}
		return setBuffer(fd, plain, size)
	}
	return errors.Join(set(unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, send), set(unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receive))
}

// SetBuffersWithin asks for a socket's buffers, in bytes, of which the kernel gives no more than net.core.[rw]mem_max: how much
// a stranger may ask for is the host's to say. What is cut is no error.
func SetBuffersWithin(fd, send, receive int) error {
	return errors.Join(setBuffer(fd, unix.SO_SNDBUF, send), setBuffer(fd, unix.SO_RCVBUF, receive))
}

func setBuffer(fd, option, size int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, size); err != nil {
		return fmt.Errorf("setting a socket buffer of %d bytes: %w", size, err)
	}
	return nil
}

// mostBuffer is what the kernel gives at most, in bytes (__sock_set_rcvbuf in net/core/sock.c): a byte less than 1 GiB.
const mostBuffer = math.MaxInt32 / 2

// CheckBuffers refuses buffers that the kernel has cut to less than was asked for, in
// bytes; 0: not asked for. The kernel gives twice what is asked for, for its own
// bookkeeping, and tells that (socket(7)).
func CheckBuffers(fd, send, receive int) error {
	for _, b := range []struct {
		option, asked int
		what, sysctl  string
	}{{unix.SO_SNDBUF, send, "send", "net.core.wmem_max"}, {unix.SO_RCVBUF, receive, "receive", "net.core.rmem_max"}} {
		if b.asked == 0 {
			continue
		}
		given, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, b.option)
		if err == nil && given/2 < min(b.asked, mostBuffer) {
			return fmt.Errorf("of a %s buffer of %d bytes the system gives %d: ask for no more, raise %s, or be root", b.what, b.asked, given/2, b.sysctl)
		}
	}
	return nil
}
