package frame

import (
	"context"
	"fmt"

	"windtunnel/traffic"
)

// Prepare makes a receiver listen and count, or a sender connect and find out how
// it can send. The order's address is of the endpoint's own Ethernet interface.
func (Kind) Prepare(ctx context.Context, order traffic.Order) (traffic.Worker, error) {
	l, err := parseLoad(order.Load)
	if err == nil {
		_, _, err = Kind{}.Generator(order.Load)
	}
	if err != nil {
		return nil, err
	}
	switch order.Role {
	case traffic.Receive:
		return listen(ctx, l, order)
	case traffic.Send:
		return connect(ctx, l, order)
	}
	return nil, fmt.Errorf("frame has no role %q: it is %q or %q", order.Role, traffic.Send, traffic.Receive)
}
