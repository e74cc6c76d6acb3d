//go:build !unix

package datagram

import (
	"errors"
	"net"
)

// setDSCP refuses: Windows takes a code point from a policy, not from a socket
// (IP_TOS is ignored since Windows 7).
func setDSCP(_ *net.UDPConn, dscp int) error {
	if dscp < 0 {
		return nil
	}
	return errors.New("this system does not let a program choose the DSCP of a socket: leave dscp out")
}
