package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
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

// takeToken waits for a thread's token. A connection of somebody else, or one on
// which no token comes, is closed, and the next one heard.
func (r *Receiver) takeToken(ctx context.Context, i int) (netip.Addr, error) {
	listener := r.tokens[i].(*net.TCPListener)
	listener.SetDeadline(deadline(ctx, r.test.wait()))
	defer listener.SetDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { listener.SetDeadline(time.Unix(1, 0)) })()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return netip.Addr{}, context.Cause(ctx)
		}
		if err != nil {
			return netip.Addr{}, fmt.Errorf("%w (thread %d, %s)", errNoToken, i, listener.Addr())
		}
		from := remoteIP(conn)
		if r.knows(i, from) && r.swap(ctx, conn) == nil {
			conn.Close()
			return from, nil
		}
		conn.Close()
	}
}

// tokenPatience is how long a token may take on a connection that stands.
const tokenPatience = 10 * time.Second

func (r *Receiver) swap(ctx context.Context, conn net.Conn) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return swapTokens(conn, time.Now().Add(tokenPatience))
}

// knows tells whether a thread has a data connection from there.
func (r *Receiver) knows(thread int, from netip.Addr) bool {
	if r.test.UDP {
		return true
	}
	return slices.ContainsFunc(r.lobby.present(), func(g guest) bool { return g.thread == thread && g.from == from })
}

// sharePort hands the data ports out, in the order in which sender threads come.
func (r *Receiver) sharePort(ctx context.Context, port int) error {
	t := r.test
	listener, err := t.listen(ctx, t.Threads[0].Host, port)
	if err != nil {
		return fmt.Errorf("listening for senders that ask for their data port (-sp): %w", err)
	}
	r.share = listener
	r.sharing.Go(func() { handPortsOut(listener, t.Threads) })
	return nil
}

func handPortsOut(listener net.Listener, threads []Thread) {
	defer listener.Close()
	for i := 0; i < len(threads); {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		b := encodePort(threads[i].Port)
		conn.SetWriteDeadline(time.Now().Add(replyPatience))
		if _, err := conn.Write(b[:]); err == nil {
			i++
		}
		conn.Close()
	}
}
