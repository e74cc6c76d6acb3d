//go:build !windows

package ping

import (
	"errors"
	"syscall"
)

// refusedByPeer tells an ICMP message about an earlier datagram.
func refusedByPeer(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// wentAway tells a peer that has closed its connection while answers were on their way to it (RFC 9293, section 3.10.7.1).
func wentAway(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
