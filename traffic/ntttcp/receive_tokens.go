package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// awaitTokens is the receiver's side of Windows' start: a connection to every
// data port, then a token on every token port, each thread's from where its data
// connection came from.
func (r *Receiver) awaitTokens(ctx context.Context, f *fleet) error {
	if !r.test.UDP {
		if err := r.awaitGuests(ctx, allCame); err != nil {
			return err
		}
	}
	senders := make([]netip.Addr, len(r.tokens))
	err := r.test.eachThread(ctx, len(r.tokens), func(ctx context.Context, i int) (err error) {
		senders[i], err = r.takeToken(ctx, i)
		return err
	})
	if err != nil {
		return err
	}
	if r.test.UDP {
		return f.add(r.takeUDP())
	}
	return r.takeGuests(f, r.onePerThread(func(g guest) bool { return g.from == senders[g.thread] }))
}

// errNoToken is a sender that connected and then did not go on.
var errNoToken = errors.New("the sender opened its data connections and sent no token: it may run with -ns, which must be the same on both ends")

const (
	tokenPatience = 10 * time.Second // for a token on a connection that stands
	tokensAtOnce  = 16               // connections of one token port that are heard
)

// takeToken waits for a thread's token. Who connects is heard beside the others,
// so that one that stays silent holds nobody up.
func (r *Receiver) takeToken(ctx context.Context, i int) (from netip.Addr, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var swaps sync.WaitGroup
	defer swaps.Wait()
	defer cancel()
	listener := r.tokens[i].(*net.TCPListener)
	listener.SetDeadline(deadline(ctx, r.test.wait()))
	defer listener.SetDeadline(time.Time{})
	wake := func() { listener.SetDeadline(time.Unix(1, 0)) }
	defer context.AfterFunc(ctx, wake)()
	came := make(chan netip.Addr, tokensAtOnce)
	slots := make(chan struct{}, tokensAtOnce)
	for {
		conn, err := r.take(listener)
		if err != nil {
			break
		}
		select {
		case slots <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		swaps.Go(func() {
			defer func() { <-slots }()
			defer conn.Close()
			if r.awaitKnown(ctx, i, remoteIP(conn)) && swap(ctx, conn) == nil {
				came <- remoteIP(conn)
				wake()
			}
		})
	}
	select {
	case from = <-came:
		return from, nil
	default:
	}
	if err := context.Cause(ctx); err != nil {
		return netip.Addr{}, err
	}
	return netip.Addr{}, fmt.Errorf("%w (thread %d, %s)", errNoToken, i, listener.Addr())
}

func swap(ctx context.Context, conn net.Conn) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return swapTokens(conn, time.Now().Add(tokenPatience))
}

// dataPatience is how long a data connection, which its sender opened before the
// token's, may still lie in the accept queue.
const dataPatience = 2 * time.Second

func (r *Receiver) awaitKnown(ctx context.Context, thread int, from netip.Addr) bool {
	for began := time.Now(); !r.knows(thread, from); {
		if time.Since(began) > dataPatience || sleep(ctx, porterEvery) != nil {
			return false
		}
	}
	return true
}

// knows tells whether a thread has a data connection from there.
func (r *Receiver) knows(thread int, from netip.Addr) bool {
	if r.test.UDP {
		return true
	}
	return slices.ContainsFunc(r.lobby.present(), func(g guest) bool { return g.thread == thread && g.from == from })
}
