package stream

import (
	"context"
	"fmt"
	"time"

	"windtunnel/traffic"
)

// peersEnd is closed when every receiving stream has come to its end; nil, which
// is never, without receiving streams.
func (e *Engine) peersEnd() <-chan struct{} {
	c := e.crews[traffic.Receive]
	if len(c.threads) == 0 {
		return nil
	}
	return c.ended
}

// finish ends the streams: a sender goes on for the tail, then says that it has
// ended; a receiver reads to the end; and a sender waits for its peer to agree.
func (w *worker) finish(ctx context.Context, e *Engine, broken bool) error {
	if broken {
		e.cut()
		return nil
	}
	limit := time.Now().Add(tail + drain)
	sending := e.of(traffic.Send)
	if len(sending) > 0 {
		// What breaks from here on leaves the window whole; the receiver says what
		// it missed.
		if err := w.tail(ctx, e); err != nil {
			e.cut()
			return nil
		}
		e.HaltSenders()
		for _, f := range sending {
			f.endSending()
		}
	}
	err := w.readToEnd(ctx, e, limit)
	for _, f := range sending {
		f.awaitEnd(limit)
	}
	return err
}

// tail lets senders go on; the other direction may end meanwhile.
func (w *worker) tail(ctx context.Context, e *Engine) error {
	timer := time.NewTimer(tail)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-e.Done():
		return e.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
}

// readToEnd waits for the receiving streams' end, then closes them, which the
// peer's senders wait for.
func (w *worker) readToEnd(ctx context.Context, e *Engine, limit time.Time) error {
	ended := e.peersEnd()
	if ended == nil {
		return nil
	}
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	var err error
	select {
	case <-ended:
		err = e.crews[traffic.Receive].failure()
	case <-timer.C:
		err = fmt.Errorf("the sender did not end its streams within %s of the window", tail+drain)
	case <-ctx.Done():
	case <-w.closing:
	}
	for _, f := range e.of(traffic.Receive) {
		f.shutdown()
	}
	return err
}
