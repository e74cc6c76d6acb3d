package stream

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// gone is what calls return when the peer has gone.
var gone = []error{unix.ECONNRESET, unix.EPIPE, unix.ECONNABORTED}

func setOption(fd uintptr, level, option, value int) error {
	return unix.SetsockoptInt(int(fd), level, option, value)
}

// mark sets the largest segment and the DSCP (RFC 2474: the upper six bits).
func (l load) mark(fd uintptr, v6 bool) error {
	if l.mss > 0 {
		if err := setOption(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, l.mss); err != nil {
			return fmt.Errorf("setting the largest segment to %d bytes (TCP_MAXSEG): %w", l.mss, err)
		}
	}
	if l.dscp == 0 {
		return nil
	}
	err := setOption(fd, unix.IPPROTO_IP, unix.IP_TOS, l.dscp<<2)
	if v6 {
		err = setOption(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, l.dscp<<2)
	}
	if err != nil {
		return fmt.Errorf("setting the DSCP %d: %w", l.dscp, err)
	}
	return nil
}

// markable refuses nothing: this system has both.
func (l load) markable() error { return nil }
