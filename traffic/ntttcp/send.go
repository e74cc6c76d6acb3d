package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"windtunnel/traffic"
)

// Run plays one end of a test and returns what it saw. An error means that there
// is nothing to report; a test that ended early is a Report that says so.
func Run(ctx context.Context, t Test) (Report, error) {
	if err := t.check(); err != nil {
		return Report{}, err
	}
	t.Threads = slices.Clone(t.Threads) // -sp changes their ports
	t.takeTurns()
	if t.Role == traffic.Send {
		return t.send(ctx)
	}
	r, err := t.Listen(ctx)
	if err != nil {
		return Report{}, err
	}
	defer r.Close()
	return r.Run(ctx)
}

// send is the sender's end, in the order that both tools' receivers expect.
func (t *Test) send(ctx context.Context) (Report, error) {
	call, err := t.meet(ctx)
	if err != nil {
		return Report{}, err
	}
	if call != nil {
		defer call.conn.Close()
	}
	fleet, err := t.connectAll(ctx)
	if err != nil {
		return Report{}, err
	}
	defer fleet.close()
	if err := t.begin(ctx, call); err != nil {
		return Report{}, err
	}
	total := t.wanted()
	if call != nil {
		total = t.settle(call.total)
	}
	s := stages{test: t, fleet: fleet}
	watched := func() {}
	if call != nil && t.UDP { // of TCP the streams end
		s.stop, watched = call.watch()
	}
	report := s.run(ctx, total)
	watched()
	fleet.halt()
	if call != nil {
		// The original says goodbye whenever its window was shorter than the total.
		call.finish(report.seconds() < total.Seconds() || report.Early != "")
	}
	return report, nil
}

// settle takes the total over that was agreed on. Where that is continuous, this
// end is, too.
func (t *Test) settle(seconds int32) time.Duration {
	total := time.Duration(seconds) * time.Second
	if total == 0 {
		t.Run, t.WarmUp, t.CoolDown = 0, 0, 0
	}
	return total
}

func (r Report) seconds() float64 {
	sum := 0.0
	for _, o := range r.Outcomes {
		sum += o.Seconds
	}
	return sum
}

// meet is what comes before the data connections: the time, or their ports.
func (t *Test) meet(ctx context.Context) (*caller, error) {
	if t.SharePort {
		return nil, t.fetchPorts(ctx)
	}
	if t.Sync != SyncLinux {
		return nil, nil
	}
	total, changed := ClearTotal(wholeSeconds(t.wanted()))
	if changed {
		t.CoolDown += time.Second
		t.say(Event{What: Adjusted, N: total})
	}
	conn, err := t.dialSync(ctx)
	if err != nil {
		return nil, err
	}
	call := &caller{conn: conn}
	if err := call.negotiate(ctx, total); err != nil {
		conn.Close()
		return nil, err
	}
	t.say(Event{What: Agreed, N: int(call.total)})
	return call, nil
}

func (t *Test) dialSync(ctx context.Context) (net.Conn, error) {
	conn, err := t.dial(ctx, "tcp"+t.family(), t.Threads[0].Host, t.base()-1, 0)
	switch {
	case err != nil && t.whyNot(t.Threads[0].Host, t.base()-1, err) != "", errors.As(err, new(*net.DNSError)): // it was not tried
		return nil, fmt.Errorf("synchronising with the receiver: %w", err)
	case err != nil:
		return nil, fmt.Errorf("synchronising with the receiver (start it first; without sync on both ends use -N): %w", err)
	}
	return conn, nil
}

// connectAll opens the data connections and readies the engine.
func (t *Test) connectAll(ctx context.Context) (*fleet, error) {
	began := time.Now()
	conns, err := t.dialAll(ctx)
	if err != nil {
		return nil, err
	}
	if t.SendBuffer > 0 || t.ReceiveBuffer > 0 {
		t.shortBuffer(conns[0].conn)
	}
	f := newFleet(t)
	if err := f.add(conns); err != nil {
		f.close()
		return nil, err
	}
	t.say(Event{What: Connected, N: len(conns), Took: time.Since(began)})
	return f, nil
}

// begin tells the receiver that all connections stand and returns when it, too,
// begins.
func (t *Test) begin(ctx context.Context, call *caller) error {
	switch t.Sync {
	case SyncLinux:
		return call.start(ctx, t.Last, func() { t.say(Event{What: Waiting}) })
	case SyncWindows:
		return t.eachThread(ctx, windowsConcurrent, func(ctx context.Context, i int) error {
			thread := t.Threads[i]
			conn, err := t.dial(ctx, "tcp"+t.family(), thread.Host, thread.Port+tokenOffset, 0)
			if err != nil {
				return fmt.Errorf("the receiver takes no token (it may run with -ns; then use -ns here, too): %w", err)
			}
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			return swapTokens(conn, time.Now().Add(t.wait()))
		})
	}
	return nil
}

// fetchPorts asks a receiver with -sp for every thread's data port.
func (t *Test) fetchPorts(ctx context.Context) error {
	return t.eachThread(ctx, windowsConcurrent, func(ctx context.Context, i int) error {
		thread := &t.Threads[i]
		conn, err := t.dial(ctx, "tcp"+t.family(), thread.Host, thread.Port, 0)
		if err != nil {
			return fmt.Errorf("asking for a data port (-sp): %w", err)
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		conn.SetDeadline(time.Now().Add(t.wait()))
		port, err := readPort(conn)
		if err != nil {
			return fmt.Errorf("asking %s for a data port (-sp): %w", conn.RemoteAddr(), err)
		}
		thread.Port = port
		return nil
	})
}

// eachThread does something for every thread, so many at once; the first error
// ends all.
func (t *Test) eachThread(ctx context.Context, atOnce int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var calls sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range t.Threads {
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	calls.Wait()
	return context.Cause(ctx)
}
