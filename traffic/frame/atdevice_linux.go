package frame

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"windtunnel/traffic"
)

// deviceNamed finds an interface of this namespace.
func deviceNamed(name string) (device, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return device{}, fmt.Errorf("finding the interface %s: %w", name, err)
	}
	return deviceOf(link)
}

// listenAtDevice makes a receiver at a port that is an interface.
func listenAtDevice(l load, order traffic.Order, ip netip.Addr) (traffic.Worker, error) {
	p := *order.Port
	d, err := deviceNamed(p.Device)
	if err != nil {
		return nil, err
	}
	e := expected{session: newSession(), flows: l.flows, sizes: l.sizes, ipv6: ip.Is6(), timed: true}
	if p.Tunnel != nil {
		if e.outer, err = expectedOuter(p, e.ipv6); err != nil {
			return nil, err
		}
	}
	counting, err := newBPFSink(l.sink, e, d)
	if err != nil {
		return nil, privileged(err)
	}
	m, socket, err := meet(p, ip, e.session)
	if err != nil {
		return nil, errors.Join(err, counting.close())
	}
	ln := newListener(socket, nil, l, helloOf(l, ip), e.session, counting)
	return &receiveWorker{load: l, order: order, device: d, listener: ln, address: m.String(), sink: counting, closing: make(chan struct{})}, nil
}

// connectAtDevice makes a sender there. What is counted comes first on a CPU that has both to do: a
// sink that loses frames would measure itself.
func connectAtDevice(ctx context.Context, l load, order traffic.Order, s *session) (traffic.Worker, error) {
	w := &sendWorker{load: l, order: order, cpus: order.CPUs, session: s, yields: true, closing: make(chan struct{})}
	w.start = func() (mover, error) { return w.startSources(), nil }
	var err error
	if w.device, err = deviceNamed(order.Port.Device); err == nil {
		w.header, err = headerAtPort(w, *order.Port)
	}
	if err == nil {
		err = w.pick(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}
