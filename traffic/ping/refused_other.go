//go:build !windows

package ping

import (
	"errors"
	"syscall"
)

// refusedByPeer tells an ICMP message about an earlier datagram.
func refusedByPeer(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
