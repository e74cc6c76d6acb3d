package stream

import (
	"context"
	"fmt"
	"slices"
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
// peer's senders wait for. A slow path may need longer for what the sender's buffers
// held at the window's end, which is no part of it: as long as that comes, the sender
// is there, and nothing has failed. Nor has it where some streams have come to their end:
// a sender ends all at once, and a full path starves the others.
func (w *worker) readToEnd(ctx context.Context, e *Engine, limit time.Time) error {
	if e.peersEnd() == nil {
		return nil
	}
	over, err := w.awaitPeers(ctx, e, time.Until(limit)/2)
	if !over {
		had := e.received()
		if over, err = w.awaitPeers(ctx, e, time.Until(limit)); !over && e.received() == had && !slices.ContainsFunc(e.of(traffic.Receive), (*flow).cameToEnd) {
			err = fmt.Errorf("the sender did not end its streams within %s of the window, and nothing came any more", tail+drain)
		}
	}
	for _, f := range e.of(traffic.Receive) {
		f.shutdown()
	}
	return err
}

// awaitPeers waits for the receiving streams' end, for so long; over is false where it
// was in vain.
func (w *worker) awaitPeers(ctx context.Context, e *Engine, limit time.Duration) (over bool, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-e.peersEnd():
		return true, e.crews[traffic.Receive].failure()
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
	case <-w.closing:
	}
	return true, nil
}

// received is what all receiving streams have taken.
func (e *Engine) received() (sum uint64) {
	for _, f := range e.of(traffic.Receive) {
		sum += f.bytes.Load()
	}
	return sum
}
