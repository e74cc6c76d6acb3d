//go:build !linux

package ping

import (
	"errors"
	"net"
	"net/netip"
	"syscall"

	"windtunnel/result"
)

// supported refuses what only Linux can.
func (l load) supported() error {
	if l.busy {
		return errors.New("this system's engine does not spin: set poll to block")
	}
	if l.depth > 1 {
		return errors.New("this system's engine has one request at a time on each flow of a closed loop: set flows instead of depth")
	}
	return nil
}

// control returns the hook with which net makes a socket: there is nothing to set.
func (l load) control() func(network, address string, c syscall.RawConn) error {
	return func(string, string, syscall.RawConn) error { return nil }
}

// newEngine makes the portable engine: no other is written for this system.
func newEngine(s setup) (engine, error) { return newPortableEngine(s) }

// socketState is what this system tells of a connection: nothing.
type socketState struct{}

func connections(snapshot, snapshot) []result.Connection { return nil }

// splitFlows makes none: two sockets of one port are not told apart by their peers
// everywhere.
func splitFlows(load, *net.UDPConn, []netip.AddrPort) ([]net.Conn, error) { return nil, nil }
