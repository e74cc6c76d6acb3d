//go:build !linux && !darwin

package iperf3

import (
	"net"
	"net/netip"
)

// held takes nothing: there is no reading without a deadline that does not wait.
func held(*net.UDPConn, func(b []byte, from netip.AddrPort)) {}
