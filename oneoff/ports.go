package oneoff

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"windtunnel/traffic"
)

// PortRange is where a receiver takes data, so that a firewall can let it
// through: First to Last, inclusive. The zero value is any port.
type PortRange struct{ First, Last int }

// ParsePortRange reads "6000-6099", or one port.
func ParsePortRange(text string) (PortRange, error) {
	first, last, ranged := strings.Cut(text, "-")
	if !ranged {
		last = first
	}
	a, errA := strconv.ParseUint(first, 10, 16)
	b, errB := strconv.ParseUint(last, 10, 16)
	if errA != nil || errB != nil || a == 0 || b < a {
		return PortRange{}, fmt.Errorf("`%s` is no range of ports; write 6000-6099", text)
	}
	return PortRange{int(a), int(b)}, nil
}

func (r PortRange) count() int { return r.Last - r.First + 1 }

// doors hands a range's ports out in turn, so that one which was just used is not
// the next.
type doors struct {
	ports PortRange
	next  atomic.Uint32
}

// receive prepares a receiving worker at host, on the next port that is free.
func (d *doors) receive(ctx context.Context, kind traffic.Kind, order traffic.Order, host string) (traffic.Worker, error) {
	if d.ports == (PortRange{}) {
		order.Address = host
		return kind.Prepare(ctx, order)
	}
	for range d.ports.count() {
		port := d.ports.First + int(d.next.Add(1)-1)%d.ports.count()
		order.Address = net.JoinHostPort(host, strconv.Itoa(port))
		worker, err := kind.Prepare(ctx, order)
		if err == nil || !inUse(err) {
			return worker, err
		}
	}
	return nil, fmt.Errorf("all data ports %d-%d are in use; try again later", d.ports.First, d.ports.Last)
}

// wsaAddressInUse is WSAEADDRINUSE, which Go does not take for EADDRINUSE.
const wsaAddressInUse = syscall.Errno(10048)

// inUse tells that somebody else has the port.
func inUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddressInUse)
}
