package control

import (
	"context"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"windtunnel/vrouter/kernel"
)

// subscribe gives a sign whenever neighbours, interfaces or addresses changed, until the context ends;
// several changes may share one. Those who listen are of the group.
func (m machine) subscribe(ctx context.Context, group *sync.WaitGroup) <-chan struct{} {
	signs := make(chan struct{}, 1)
	sign := func() {
		select {
		case signs <- struct{}{}:
		default:
		}
	}
	group.Go(heed(ctx, netlink.NeighSubscribe, sign))
	group.Go(heed(ctx, netlink.LinkSubscribe, sign))
	group.Go(heed(ctx, netlink.AddrSubscribe, sign))
	stop := kernel.XDPChanges(sign)
	group.Go(func() {
		<-ctx.Done()
		stop()
	})
	return signs
}

// heed subscribes to something, and gives what listens until the context ends. A subscription ends when
// more happens than is read in time (ENOBUFS: netlink(7)); then there is another, with a sign for what was
// missed. Without one the tick alone keeps the tables true, a second late.
func heed[T any](ctx context.Context, subscribe func(updates chan<- T, done <-chan struct{}) error, sign func()) (listen func()) {
	begin := func() (updates chan T, end context.CancelFunc) {
		own, end := context.WithCancel(ctx)
		if updates = make(chan T); subscribe(updates, own.Done()) != nil {
			close(updates)
		}
		return updates, end
	}
	updates, end := begin()
	return func() {
		for {
			for range updates {
				sign()
			}
			end() // or its socket stays open
			select {
			case <-ctx.Done():
				return
			case <-time.After(askAgain):
			}
			updates, end = begin()
			sign()
		}
	}
}
