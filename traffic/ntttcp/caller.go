package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// callPatience is how long a receiver may take to answer a question. The
	// original waits for ever.
	callPatience = 30 * time.Second
	// lastPatience is how long a sender waits for the client with -L to come.
	lastPatience = time.Hour
	// secondGo is how long to look for the second R of a receiver with -M, which
	// tells a go from an old answer that only looks like one.
	secondGo = time.Second
	// maxStale is how many unasked messages are skipped before an answer.
	maxStale = 4
)

// caller is the sender's side of ntttcp-for-linux's synchronisation, over the
// connection that it keeps until the end.
type caller struct {
	conn  net.Conn
	total int32 // agreed, in seconds; 0: until somebody stops it
}

// ask sends one message and takes one answer.
func (c *caller) ask(ctx context.Context, what string, value int32) (int32, error) {
	c.conn.SetDeadline(deadline(ctx, callPatience))
	defer c.interrupt(ctx)()
	if err := writeMessage(c.conn, value); err != nil {
		return 0, fmt.Errorf("%s at %s: %w", what, c.conn.RemoteAddr(), err)
	}
	return c.hear(ctx, what)
}

func (c *caller) hear(ctx context.Context, what string) (int32, error) {
	said, err := readMessage(c.conn)
	if err != nil && ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, fmt.Errorf("%s at %s: no answer; is it ntttcp-for-linux, and does it run with sync (no -N)?", what, c.conn.RemoteAddr())
	}
	if err != nil {
		return 0, fmt.Errorf("%s at %s: the receiver ended the sync connection: %w", what, c.conn.RemoteAddr(), err)
	}
	return said, nil
}

// interrupt makes a waiting read end with the context.
func (c *caller) interrupt(ctx context.Context) (done func()) {
	stop := context.AfterFunc(ctx, func() { c.conn.SetDeadline(time.Unix(1, 0)) })
	return func() { stop() }
}

// negotiate asks whether the receiver is free and agrees on the total time. Only
// then may the data connections be opened.
func (c *caller) negotiate(ctx context.Context, seconds int) error {
	state, err := c.ask(ctx, "asking for the receiver's state", askState)
	if err != nil {
		return err
	}
	if state == running {
		return fmt.Errorf("the receiver at %s is busy with another test; try again when it is over", c.conn.RemoteAddr())
	}
	if state < leastSaid || state > finished {
		return fmt.Errorf("%s answered %s to the state query: it is no ntttcp-for-linux receiver", c.conn.RemoteAddr(), spell(state))
	}
	total, err := c.ask(ctx, "agreeing on the time", int32(seconds))
	if errors.Is(err, io.EOF) {
		// Ours turns away who was told that it is free, and then another agreed first.
		return fmt.Errorf("%w; another sender may have come first: try again when its test is over", err)
	}
	if err != nil {
		return err
	}
	if total < 0 {
		return fmt.Errorf("%s answered a time of %d s", c.conn.RemoteAddr(), total)
	}
	c.total = total
	return nil
}

// start says that all connections stand and returns when both ends begin.
func (c *caller) start(ctx context.Context, last bool, waiting func()) error {
	request := askRun
	if last {
		request = askLast
	}
	said, err := c.ask(ctx, "asking to start", request)
	if err != nil {
		return err
	}
	if last && said == c.total {
		return c.echo(ctx, said)
	}
	if said == sayWait {
		waiting()
		c.conn.SetDeadline(deadline(ctx, lastPatience))
		defer c.interrupt(ctx)()
		if said, err = c.hear(ctx, "waiting for the last client"); err != nil {
			return err
		}
	}
	return c.refused(said, last)
}

func (c *caller) refused(said int32, last bool) error {
	switch {
	case said == askRun:
		return nil
	case said == askEnd:
		return fmt.Errorf("the receiver at %s refused to start: too many clients, or it runs without -M and this one came with -L", c.conn.RemoteAddr())
	case last:
		return fmt.Errorf("the receiver at %s answered %s to -L: it runs without -M and ignores the last client; start it with -M, or leave -L away", c.conn.RemoteAddr(), spell(said))
	}
	return fmt.Errorf("the receiver at %s answered %s to the request to start", c.conn.RemoteAddr(), spell(said))
}

// echo handles an answer to L that equals the receiver's last one: without -M it
// answers L with that, and 82 s reads as a go. With -M the go comes twice.
func (c *caller) echo(ctx context.Context, said int32) error {
	if said != askRun {
		return c.refused(said, true)
	}
	c.conn.SetDeadline(deadline(ctx, secondGo))
	again, err := readMessage(c.conn)
	if err != nil || again != askRun {
		return fmt.Errorf("the receiver at %s repeated its time of %d s instead of starting: it runs without -M; start it with -M, or leave -L away", c.conn.RemoteAddr(), said)
	}
	return nil
}

// watch tells when the receiver has gone. Whatever it says meanwhile, as the second R
// of one with -M, is not its end. Done comes before anything else is asked.
func (c *caller) watch() (gone <-chan why, done func()) {
	c.conn.SetDeadline(time.Time{})
	over := make(chan why, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			if _, err := readMessage(c.conn); errors.Is(err, os.ErrDeadlineExceeded) {
				return
			} else if err != nil {
				over <- byGone
				return
			}
		}
	})
	return over, func() {
		c.conn.SetReadDeadline(time.Unix(1, 0))
		watching.Wait()
	}
}

// finish tells the receiver, as the original does, that this end stopped before
// the agreed total, and takes its answer. The second R of a receiver with -M may
// still lie before it. The caller closes the connection.
func (c *caller) finish(early bool) {
	if !early {
		return
	}
	c.conn.SetDeadline(time.Now().Add(farewell))
	if writeMessage(c.conn, askEnd) != nil {
		return
	}
	for range maxStale {
		if said, err := readMessage(c.conn); err != nil || said != askRun {
			return
		}
	}
}

// farewell is how long the goodbye may take: the result is there already.
const farewell = 2 * time.Second

// deadline is the earlier of a patience from now and the context's own.
func deadline(ctx context.Context, patience time.Duration) time.Time {
	at := time.Now().Add(patience)
	if own, ok := ctx.Deadline(); ok && own.Before(at) {
		return own
	}
	return at
}
