package ping

import (
	"errors"
	"syscall"
)

// refusedByPeer tells an ICMP message about an earlier datagram (WSAECONNRESET).
func refusedByPeer(err error) bool { return errors.Is(err, syscall.WSAECONNRESET) }
