package frame

import (
	"context"
	"errors"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

const (
	// tail is for how long a sender goes on after its window, so that the nodes'
	// own windows, which began at nearly the same time, are full.
	tail = 200 * time.Millisecond
	// drain is how long a receiver waits after that for the sender's last word, and the sender for the answer. A path that is
	// crowded loses those, too, and TCP says again what was lost 0.2 s, 0.6 s, 1.4 s and 3 s later (RFC 6298, section 5.5,
	// from TCP_RTO_MIN in include/net/tcp.h).
	drain = 5 * time.Second
	// lateSender is how long after the start a receiver waits for a sender.
	lateSender = time.Second
	// mostIntervals are kept; what comes after them is only observed.
	mostIntervals = 100_000
)

var errClosed = errors.New("the worker was closed")

// course is a schedule under way: the wait for each of its times, and the
// intervals between.
type course struct {
	when    traffic.Schedule
	closing <-chan struct{} // the worker is being closed
	broken  <-chan struct{} // what runs has ended; failure says why
	failure func() error
	read    func() (packets, lost uint64) // so far
	tell    func()                        // what the other end is to know after each interval; nil: nothing
	size    float64                       // bytes of a frame, on the mean

	next      time.Time // when the running interval is to end, or the first to begin
	began     time.Time // when the running one really did
	packets   uint64    // at its begin
	lost      uint64
	intervals []result.Interval
	watcher   *traffic.Watcher
}

// start begins the intervals, so that one of them begins with the window.
func (c *course) start() {
	if c.when.Interval <= 0 {
		return
	}
	c.next = c.windowBegin().Add(-c.when.WarmUp.Truncate(c.when.Interval))
	c.watcher = traffic.NewWatcher(c.when.Observe)
}

// stop ends the watcher.
func (c *course) stop() { c.watcher.Close() }

func (c *course) windowBegin() time.Time { return c.when.Start.Add(c.when.WarmUp) }

func (c *course) windowEnd() time.Time { return c.windowBegin().Add(c.when.Window) }

// until waits for a time, and ends the intervals that end before.
func (c *course) until(ctx context.Context, at time.Time) error {
	for !c.next.IsZero() && !c.next.After(at) && !c.next.After(c.windowEnd()) {
		if err := c.sleep(ctx, c.next); err != nil {
			return err
		}
		c.turn()
		c.next = c.next.Add(c.when.Interval)
	}
	return c.sleep(ctx, at)
}

// finish ends the interval that runs when the window is over, unless that is next to nothing.
func (c *course) finish() {
	if !c.next.IsZero() && time.Since(c.began) > c.when.Interval/10 {
		c.turn()
	}
}

// turn ends an interval, if one runs, and begins the next.
func (c *course) turn() {
	packets, lost := c.read()
	now, zero := time.Now(), c.windowBegin()
	if c.tell != nil { // which may take its time
		defer c.tell()
	}
	packets = max(packets, c.packets) // less: some of those under way were refused since
	if c.began.IsZero() {
		c.began, c.packets, c.lost = now, packets, lost
		return
	}
	i := result.Interval{
		From: c.began.Sub(zero).Seconds(), To: now.Sub(zero).Seconds(),
		Packets: packets - c.packets, Bytes: uint64(float64(packets-c.packets) * c.size),
	}
	if lost > c.lost { // less: what looked lost for a while has come, or was refused
		i.Lost = lost - c.lost
		c.lost = lost
	}
	c.began, c.packets = now, packets
	if len(c.intervals) < mostIntervals {
		c.intervals = append(c.intervals, i)
	}
	c.watcher.Tell(i)
}

func (c *course) sleep(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.broken:
		return c.failure()
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closing:
		return errClosed
	}
}
