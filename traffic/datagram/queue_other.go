//go:build !linux

package datagram

import "net"

// unacknowledged is not known here.
func unacknowledged(net.Conn) bool { return false }
