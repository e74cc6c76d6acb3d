package traffic

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// takeBoth lets an IPv6 socket take IPv4, too (ipv6(7)), which Go has turned off before it asks the config's own Control.
func takeBoth(config *net.ListenConfig) bool {
	own := config.Control
	config.Control = func(network, address string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0))
		})
		if err == nil {
			err = failed
		}
		if err != nil || own == nil {
			return err
		}
		return own(network, address, raw)
	}
	return true
}
