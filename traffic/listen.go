package traffic

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// Listen listens at a port of host, an IP. By the network tcp, "" is all addresses, of IPv4 and of IPv6. Go's own leaves IPv6 out
// where 127.0.0.1 cannot be bound, as in a network namespace with addresses whose loopback interface is down.
func Listen(ctx context.Context, config net.ListenConfig, network, host, port string) (net.Listener, error) {
	at := net.JoinHostPort(host, port)
	if both := config; network == "tcp" && host == "" && takeBoth(&both) {
		if listener, err := both.Listen(ctx, "tcp6", at); !errors.Is(err, syscall.EAFNOSUPPORT) {
			return listener, asked(network, err)
		}
	}
	return config.Listen(ctx, network, at)
}

// ListenPacket is the same of udp.
func ListenPacket(ctx context.Context, config net.ListenConfig, network, host, port string) (net.PacketConn, error) {
	at := net.JoinHostPort(host, port)
	if both := config; network == "udp" && host == "" && takeBoth(&both) {
		if socket, err := both.ListenPacket(ctx, "udp6", at); !errors.Is(err, syscall.EAFNOSUPPORT) {
			return socket, asked(network, err)
		}
	}
	return config.ListenPacket(ctx, network, at)
}

// asked names in an error the network that was asked for: what has the port may have it of IPv4 alone.
func asked(network string, err error) error {
	var failed *net.OpError
	if errors.As(err, &failed) {
		failed.Net = network
	}
	return err
}
