package agent

import (
	"errors"
	"net"

	"golang.org/x/sys/windows"
)

// dontFragment is IP_DONTFRAGMENT (ws2ipdef.h).
const dontFragment = 14

// neverFragment sets the don't-fragment bit, so that a packet which is too big somewhere fails here.
func neverFragment(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var setting error
	err = raw.Control(func(fd uintptr) {
		setting = windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_IP, dontFragment, 1)
	})
	return errors.Join(err, setting)
}
