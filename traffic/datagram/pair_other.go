//go:build !linux

package datagram

import (
	"net"
	"net/netip"
)

// pairUp leaves the socket as it is.
func pairUp(*net.UDPConn, netip.AddrPort) {}

// rejoin does nothing: this system's sockets never part.
func (in *inlet) rejoin(*name) {}
