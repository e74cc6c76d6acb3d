package traffic

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// NoWay tells that the system has no way to the peer, or that ICMP said so.
//
//go:nosplit
func NoWay(errno syscall.Errno) bool {
	switch errno {
	case unix.ENETDOWN, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EHOSTDOWN, unix.ENONET:
		return true
	}
	return false
}
