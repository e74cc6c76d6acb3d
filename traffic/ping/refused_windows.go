package ping

import (
	"errors"
	"syscall"
)

// refusedByPeer tells an ICMP message about an earlier datagram (WSAECONNRESET).
func refusedByPeer(err error) bool { return errors.Is(err, syscall.WSAECONNRESET) }

// wentAway tells a peer that has closed its connection while answers were on their way to it (RFC 9293, section 3.10.7.1).
func wentAway(err error) bool {
	return errors.Is(err, syscall.WSAECONNRESET) || errors.Is(err, syscall.WSAECONNABORTED)
}
