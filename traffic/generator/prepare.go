package generator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"windtunnel/traffic"
)

// The ports among which a receiver's are chosen: below those that a kernel gives to
// clients (ip_local_port_range).
const (
	firstPort = 20000
	lastPort  = 32000
)

// Prepare readies an end of a pair whose load names a tool: a receiver's program listens.
func Prepare(ctx context.Context, order traffic.Order) (traffic.Worker, error) {
	t, foreign := of(order.Load)
	if !foreign {
		return nil, fmt.Errorf("there is no generator %q", order.Load.Text(option))
	}
	w := &worker{tool: t, receives: order.Role == traffic.Receive, cpus: order.CPUs, closing: make(chan struct{})}
	var err error
	if w.task, err = newTask(order); err != nil {
		return nil, err
	}
	if own, ok := t.(timed); ok {
		if err := own.ready(w.task); err != nil {
			return nil, err
		}
	}
	_, startsNow := t.(early)
	switch {
	case w.receives:
		err = w.listen(ctx)
	case startsNow:
		err = w.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// begin starts a sender's program and waits until it sends.
func (w *worker) begin(ctx context.Context) error {
	p, err := w.start(w.tool.client(w.task))
	if err != nil {
		return err
	}
	for !w.tool.(early).begun(p.said()) {
		if err := w.sleep(ctx, p, time.Now().Add(lookAgain/10)); err != nil {
			return fmt.Errorf("`%s`: waiting for it to begin: %w%s", line(p.args), err, p.said().words())
		}
	}
	return nil
}

// listen starts a receiver's program and waits until its port is there.
func (w *worker) listen(ctx context.Context) error {
	if w.task.port == 0 {
		port, err := freePorts(w.task)
		if err != nil {
			return err
		}
		w.task.port = port
	}
	p, err := w.start(w.tool.server(w.task))
	if err != nil {
		return err
	}
	patience := listenPatience
	if end, limited := ctx.Deadline(); limited {
		patience = min(patience, time.Until(end))
	}
	if err := awaitPort(p, w.task, patience); err != nil {
		return fmt.Errorf("`%s`: %w%s", line(p.args), err, p.said().words())
	}
	return nil
}

// freePorts finds the first of consecutive ports that nobody has, for TCP and UDP.
func freePorts(t task) (int, error) {
	const tries = 50
	var last error
	for range tries {
		first := firstPort + rand.IntN(lastPort-firstPort-t.ports())
		if last = allFree(t.host, first, t.ports()); last == nil {
			return first, nil
		}
	}
	return 0, fmt.Errorf("finding %d free ports in a row at %s: %w", t.ports(), t.host, last)
}

func allFree(host string, first, n int) error {
	for port := first; port < first+n; port++ {
		at := net.JoinHostPort(host, strconv.Itoa(port))
		stream, err := net.Listen("tcp", at)
		if err != nil {
			return err
		}
		stream.Close()
		datagrams, err := net.ListenPacket("udp", at)
		if err != nil {
			return err
		}
		datagrams.Close()
	}
	return nil
}
