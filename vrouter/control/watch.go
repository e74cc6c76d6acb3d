package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/kernel"
	"windtunnel/vrouter/poll"
)

// WatchRequest asks for live packets that match.
type WatchRequest struct {
	Port    string `json:"port,omitempty"`    // packets from it, and from the fabric to it; without, all
	Host    string `json:"host,omitempty"`    // an address of the packet, or of its tunnel
	Count   int    `json:"count,omitempty"`   // 10 without, at most 1,000
	Seconds int    `json:"seconds,omitempty"` // how long, 10 without, at most 3,600
}

const (
	watchCount, maxWatchCount     = 10, 1000
	watchSeconds, maxWatchSeconds = 10, 3600
	// watchTick is how soon a watch sees that its client has gone, or the vRouter ends.
	watchTick = 250 * time.Millisecond
)

// A viewer is whom live packets are shown.
type viewer struct{ conn net.Conn }

// show tells a packet, and whether that was possible.
func (v viewer) show(t TraceReply) bool { return send(v.conn, reply{"ok": true, "trace": t}) }

// gone tells that the other end was closed. One that has only said that it will ask no more (RDHUP
// without HUP: unix_poll in net/unix/af_unix.c) still listens.
func (v viewer) gone() bool {
	conn, ok := v.conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	poll := []unix.PollFd{{}}
	err = raw.Control(func(fd uintptr) {
		poll[0].Fd = int32(fd)
		_, _ = unix.Poll(poll, 0)
	})
	return err != nil || poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// Watch shows each live packet that matches, and says how many there were. Meanwhile every packet
// costs a look; before and after, none.
func (a *Agent) Watch(ctx context.Context, r WatchRequest, v viewer) (int, error) {
	if r.Count < 0 || r.Count > maxWatchCount || r.Seconds < 0 || r.Seconds > maxWatchSeconds {
		return 0, Refuse(fmt.Errorf("a watch shows 1 to %d packets within 1 to %d seconds", maxWatchCount, maxWatchSeconds))
	}
	for until := time.Now().Add(4 * watchTick); !a.watching.TryLock(); time.Sleep(watchTick / 10) {
		if time.Now().After(until) { // it is not one that is about to end, because its client has gone
			return 0, errors.New("somebody watches already")
		}
	}
	defer a.watching.Unlock()
	watch, err := a.beginWatch(r)
	if err != nil {
		return 0, err
	}
	count, limit := r.Count, time.Duration(r.Seconds)*time.Second
	if count == 0 {
		count = watchCount
	}
	if limit == 0 {
		limit = watchSeconds * time.Second
	}
	shown, err := a.follows(ctx, watch, count, time.Now().Add(limit), v)
	return shown, errors.Join(err, watch.Close())
}

// watched is where live packets come from.
type watched interface {
	// Next waits for one until a time; then it gives os.ErrDeadlineExceeded.
	Next(until time.Time) (core.Trace, error)
	Close() error
}

var (
	_ watched = (*kernel.Watch)(nil)
	_ watched = (*poll.Watch)(nil)
)

func (a *Agent) beginWatch(r WatchRequest) (watched, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var filter core.TraceFilter
	if r.Port != "" {
		if _, err := a.portIfindex(r.Port); err != nil {
			return nil, Refuse(err)
		}
		filter.Vif = a.view().slots()[config.ID(r.Port)]
	}
	if r.Host != "" {
		host, err := netip.ParseAddr(r.Host)
		if err != nil {
			return nil, Refuse(fmt.Errorf("reading the host: %w", err))
		}
		host = host.Unmap().WithZone("")
		filter.Host = core.AddrOf(host)
		filter.Family = 4
		if host.Is6() {
			filter.Family = 6
		}
	}
	var vifs []uint32
	for slot, vif := range a.image.Vifs {
		if filter.Vif == 0 || slot == filter.Vif {
			vifs = append(vifs, vif.Ifindex)
		}
	}
	if a.poll != nil {
		return a.poll.Watch(filter), nil
	}
	watch, err := a.kernel.Watch(filter, vifs, a.facts.FabricIfindex)
	if err != nil {
		return nil, err
	}
	return watch, nil
}

// follows shows packets until there were enough, the time is up, or nobody listens.
func (a *Agent) follows(ctx context.Context, watch watched, count int, end time.Time, v viewer) (shown int, err error) {
	for shown < count && ctx.Err() == nil && time.Now().Before(end) && !v.gone() {
		until := time.Now().Add(watchTick)
		if end.Before(until) {
			until = end
		}
		trace, err := watch.Next(until)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return shown, err
		}
		a.mu.Lock()
		reply := a.explain(trace)
		a.mu.Unlock()
		if shown++; !v.show(reply) {
			break
		}
	}
	return shown, nil
}
