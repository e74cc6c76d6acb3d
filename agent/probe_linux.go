package agent

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// neverFragment sets the don't-fragment bit, so that a packet which is too big
// somewhere fails here (ip(7), IP_MTU_DISCOVER).
func neverFragment(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var setting error
	err = raw.Control(func(fd uintptr) {
		setting = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
	})
	return errors.Join(err, setting)
}
