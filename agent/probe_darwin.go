package agent

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// neverFragment sets the don't-fragment bit (ip(4), since macOS 11), so that a packet which is too big somewhere fails here.
func neverFragment(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	option, level := unix.IP_DONTFRAG, unix.IPPROTO_IP
	if address, ok := conn.RemoteAddr().(*net.UDPAddr); ok && address.IP.To4() == nil {
		option, level = unix.IPV6_DONTFRAG, unix.IPPROTO_IPV6
	}
	var setting error
	err = raw.Control(func(fd uintptr) { setting = unix.SetsockoptInt(int(fd), level, option, 1) })
	return errors.Join(err, setting)
}
