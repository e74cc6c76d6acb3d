package frame

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"windtunnel/traffic/lobby"
)

// reserve finds a TCP port for the control connection with so many UDP ports from
// it on free.
func reserve(ctx context.Context, address string, ports int) (*net.TCPListener, []*net.UDPConn, error) {
	ip, port, err := localAddress(address)
	if err != nil {
		return nil, nil, err
	}
	for try := 0; ; try++ {
		tcp, err := lobby.Listen(ctx, netip.AddrPortFrom(ip, port).String(), nil)
		if err != nil {
			return nil, nil, fmt.Errorf("listening on %s: %w", address, err)
		}
		reserved, err := reserveUDP(tcp.Addr().(*net.TCPAddr).AddrPort(), ports)
		if err == nil {
			return tcp, reserved, nil
		}
		tcp.Close()
		if port != 0 || try == portTries {
			return nil, nil, fmt.Errorf("reserving %d UDP ports on %s: %w", ports, address, err)
		}
	}
}

// localAddress takes an IP, or an IP:port where the caller wants the port.
func localAddress(address string) (netip.Addr, uint16, error) {
	if both, err := netip.ParseAddrPort(address); err == nil {
		return both.Addr().Unmap(), both.Port(), nil
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ip, 0, fmt.Errorf("%q is not the IP of an interface here: %w", address, err)
	}
	return ip.Unmap(), 0, nil
}

func reserveUDP(first netip.AddrPort, ports int) ([]*net.UDPConn, error) {
	var reserved []*net.UDPConn
	for i := range ports {
		port := int(first.Port()) + i
		if port > 0xffff {
			closeAll(reserved)
			return nil, fmt.Errorf("there is no port %d", port)
		}
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(first.Addr(), uint16(port))))
		if err != nil {
			closeAll(reserved)
			return nil, err
		}
		reserved = append(reserved, conn)
		_ = conn.SetReadBuffer(1) // the least: nobody reads
	}
	return reserved, nil
}

func closeAll(conns []*net.UDPConn) {
	for _, c := range conns {
		c.Close()
	}
}
