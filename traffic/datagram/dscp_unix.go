//go:build unix

package datagram

import (
	"fmt"
	"net"
	"syscall"
)

// setDSCP sets a socket's differentiated services code point; below 0 it stays.
func setDSCP(conn *net.UDPConn, dscp int) error {
	if dscp < 0 {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	level, option := syscall.IPPROTO_IP, syscall.IP_TOS
	if a := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr(); a.Is6() && !a.Is4In6() {
		level, option = syscall.IPPROTO_IPV6, syscall.IPV6_TCLASS
	}
	if e := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), level, option, dscp<<2) }); e != nil {
		return e
	}
	if err != nil {
		return fmt.Errorf("setting DSCP %d: %w", dscp, err)
	}
	return nil
}
