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
	return listenAt(ctx, config, network, host, port, (*net.ListenConfig).Listen)
}

// ListenPacket is the same of udp.
func ListenPacket(ctx context.Context, config net.ListenConfig, network, host, port string) (net.PacketConn, error) {
	return listenAt(ctx, config, network, host, port, (*net.ListenConfig).ListenPacket)
}

func listenAt[T any](ctx context.Context, config net.ListenConfig, network, host, port string,
	listen func(config *net.ListenConfig, ctx context.Context, network, address string) (T, error)) (T, error) {
	at, unbound := net.JoinHostPort(host, port), host == "" && (network == "tcp" || network == "udp")
	if both := config; unbound && takeBoth(&both) {
		if socket, err := listen(&both, ctx, network+"6", at); !errors.Is(err, syscall.EAFNOSUPPORT) {
			return socket, asked(network, err)
		}
	}
	return listen(&config, ctx, network, at)
}

// asked names in an error the network that was asked for: what has the port may have it of IPv4 alone.
func asked(network string, err error) error {
	var failed *net.OpError
	if errors.As(err, &failed) {
		failed.Net = network
	}
	return err
}
