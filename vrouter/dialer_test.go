package vrouter_test

import (
	"context"
	"net"
)

// A dialer reaches a Unix socket, whatever address is asked for.
type dialer struct{ socket string }

func (d *dialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
}
