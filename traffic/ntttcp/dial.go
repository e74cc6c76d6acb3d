package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"windtunnel/traffic"
)

const dialPatience = 30 * time.Second

// dialled is a connection and the thread that it belongs to.
type dialled struct {
	thread int
	conn   net.Conn
}

// dialAll opens the data connections of all threads, at most so many at once as
// NTttcp for Windows, so that the handshakes do not overflow anything.
func (t *Test) dialAll(ctx context.Context) (all []dialled, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu    sync.Mutex
		calls sync.WaitGroup
		slots = make(chan struct{}, windowsConcurrent)
	)
	for i, thread := range t.Threads {
		for n := range thread.Connections {
			slots <- struct{}{}
			calls.Go(func() {
				defer func() { <-slots }()
				conn, err := t.dialData(ctx, thread, n)
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, dialled{i, conn})
			})
		}
	}
	calls.Wait()
	if context.Cause(ctx) != nil {
		for _, d := range all {
			d.conn.Close()
		}
		return nil, context.Cause(ctx)
	}
	return all, nil
}

// dialData opens the n-th connection of a thread.
func (t *Test) dialData(ctx context.Context, thread Thread, n int) (net.Conn, error) {
	local := 0
	if thread.LocalPort > 0 {
		local = thread.LocalPort + n
	}
	return t.dial(ctx, t.network(), thread.Host, thread.Port, local)
}

// dial opens one connection. As the sender may have been started first, it tries
// again, but where it has synchronised with a receiver that is there; for as long as it is to wait for the other end.
func (t *Test) dial(ctx context.Context, network, host string, port, local int) (net.Conn, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	ctx, cancel := context.WithTimeoutCause(ctx, t.wait(), fmt.Errorf("connecting to %s: nobody answered within %s", address, t.wait()))
	defer cancel()
	dialer := net.Dialer{Timeout: dialPatience, Control: t.control, KeepAlive: -1}
	dialer.SetMultipathTCP(false)
	if err := t.bindLocal(&dialer, network, local); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			t.setNoDelay(conn)
			return conn, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		if try == t.tries() || !refusedByPeer(err) {
			return nil, fmt.Errorf("connecting to %s (try %d)%s: %w", address, try, t.whyNot(host, port, err), err)
		}
		if sleep(ctx, windowsTryPause) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// whyNot is what keeps an address from being reached, and what a refused data connection most likely means where the receiver has
// just answered on its sync port.
func (t *Test) whyNot(host string, port int, err error) string {
	if says := traffic.BadZone(host); says != "" {
		return ", " + says
	}
	if errors.As(err, new(*net.AddrError)) && port <= maxPort { // else it is the port that is none
		if t.IPv6 {
			return ", which has no IPv6 address (leave -6 away)"
		}
		return ", which has no IPv4 address (-6 takes its IPv6 one)"
	}
	if t.Sync == SyncLinux && port > t.base() && refusedByPeer(err) {
		return ", which the receiver has not opened: give both ends the same -P"
	}
	if says := traffic.NoRoute(err); says != "" && t.LocalHost == "" {
		return ", " + says
	}
	return ""
}

func (t *Test) tries() int {
	if t.Sync == SyncLinux {
		return 1
	}
	return windowsTries
}

// refusedByPeer tells that nobody listens yet, or has no room: the next try may
// be luckier.
func refusedByPeer(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, errConnRefused)
}

func (t *Test) bindLocal(dialer *net.Dialer, network string, port int) error {
	if t.LocalHost == "" && port == 0 {
		return nil
	}
	local := net.JoinHostPort(t.LocalHost, strconv.Itoa(port))
	var err error
	if network[:3] == "udp" {
		dialer.LocalAddr, err = net.ResolveUDPAddr(network, local)
	} else {
		dialer.LocalAddr, err = net.ResolveTCPAddr(network, local)
	}
	if err != nil {
		return fmt.Errorf("the sender's own address %s: %w", local, err)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
