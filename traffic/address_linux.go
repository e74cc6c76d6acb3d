package traffic

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// IPOf is a socket's address of IPv4 or IPv6, without its zone; of another family it is not valid.
func IPOf(address unix.Sockaddr) netip.Addr {
	switch a := address.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(a.Addr)
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(a.Addr).Unmap()
	}
	return netip.Addr{}
}
