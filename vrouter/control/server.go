package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"windtunnel/vrouter/config"
)

// reply's keys.
type reply map[string]any

const (
	maxRequest = config.MaxBytes + 64
	// requestTime bounds reading one request and writing its reply; idleTime, waiting for the next.
	requestTime = 10 * time.Second
	idleTime    = 5 * time.Minute
	maxClients  = 64
)

// Serve answers at a Unix socket until the context ends, and closes it.
func (a *Agent) Serve(ctx context.Context, listener net.Listener) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the clients are waited for
	context.AfterFunc(ctx, func() { listener.Close() })
	room := newGuests(maxClients)
	for {
		conn, err := accept(ctx, listener)
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("serving %s: %w", listener.Addr(), err)
		}
		one := room.enter(conn)
		if one == nil {
			clients.Go(func() { turnAway(conn) })
			continue
		}
		clients.Go(func() {
			defer one.leave()
			a.client(ctx, one)
		})
	}
}

// turnAway says why. What it says fits the socket's buffer, so that nobody is waited for.
func turnAway(conn net.Conn) {
	send(conn, reply{"ok": false, "error": fmt.Sprintf("busy: %d requests are being served; try again", maxClients)})
	conn.Close()
}

func (a *Agent) client(ctx context.Context, conn *guest) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	reader := bufio.NewReader(conn)
	for {
		line, err := readLine(conn, reader)
		if errors.Is(err, errTooLong) {
			send(conn, reply{"ok": false, "error": err.Error()})
		}
		if err != nil {
			return
		}
		if !send(conn, a.answer(ctx, line, viewer{conn.Conn})) {
			return
		}
	}
}

var errTooLong = fmt.Errorf("the request is longer than %d bytes", maxRequest)

// readLine waits for a request as long as idleTime, but once it has begun, no longer than
// requestTime.
func readLine(conn *guest, reader *bufio.Reader) ([]byte, error) {
	conn.SetReadDeadline(time.Now().Add(idleTime))
	conn.waits()
	_, err := reader.Peek(1)
	conn.asks()
	if err != nil {
		return nil, err
	}
	conn.SetReadDeadline(time.Now().Add(requestTime))
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxRequest:
			return nil, errTooLong
		case err == nil || err == io.EOF && len(line) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func send(conn net.Conn, r reply) bool {
	conn.SetWriteDeadline(time.Now().Add(requestTime))
	return json.NewEncoder(conn).Encode(r) == nil
}

// answer is a request's reply: {"ok":true,"<what>":...} or {"ok":false,"error":"..."}. A watch shows
// its packets before.
func (a *Agent) answer(ctx context.Context, line []byte, v viewer) reply {
	r, err := a.handle(ctx, line, v)
	if err == nil {
		r["ok"] = true
		return r
	}
	r = reply{"ok": false, "error": err.Error()}
	if errors.As(err, new(Refused)) {
		r["refused"] = true
	}
	return r
}

func (a *Agent) handle(ctx context.Context, line []byte, v viewer) (reply, error) {
	r, err := readRequest(line)
	if err != nil {
		return nil, Refuse(err)
	}
	switch {
	case r.Get != "":
		value, err := a.get(r.Get, Scope{r.Network, r.Port}, r.Limit)
		return reply{r.Get: value}, err
	case r.Apply != nil:
		return a.apply(r)
	case r.Routes != nil:
		return a.changeRoutes(r.Routes)
	case r.Sweep:
		value, err := a.Sweep()
		return reply{"sweep": value}, err
	case r.Trace != nil:
		value, err := a.Trace(*r.Trace)
		return reply{"trace": value}, err
	default:
		watched, err := a.Watch(ctx, *r.Watch, v)
		return reply{"watched": watched}, err
	}
}

func (a *Agent) apply(r Request) (reply, error) {
	c, err := config.Parse(r.Apply, "")
	if err != nil {
		return nil, Refuse(err)
	}
	if r.DryRun {
		changes, err := a.WouldApply(c)
		return reply{"changes": changes}, err
	}
	changes, err := a.Apply(c)
	return reply{"status": a.Status(), "changes": changes}, err
}

func (a *Agent) changeRoutes(text []byte) (reply, error) {
	changes, err := config.ParseChanges(text)
	if err != nil {
		return nil, Refuse(err)
	}
	routes, err := a.ChangeRoutes(changes)
	return reply{"routes": routes}, err
}

// Tables are what can be asked for.
var Tables = []string{"status", "vif", "nh", "rt", "mpls", "vxlan", "mac", "flood", "flow", "rule", "drops", "stats"}

func (a *Agent) get(what string, scope Scope, limit int) (any, error) {
	switch what {
	case "status":
		return a.Status(), nil
	case "vif":
		return a.Vifs()
	case "nh":
		return a.Nexthops(), nil
	case "rt":
		return a.Routes(), nil
	case "mpls":
		return a.Labels(), nil
	case "vxlan":
		return a.VNIs(), nil
	case "mac":
		return a.MACs(), nil
	case "flood":
		return a.Floods(), nil
	case "flow":
		return a.Flows(scope, limit)
	case "rule":
		return a.Rules(limit)
	case "drops":
		return a.Drops(scope)
	case "stats":
		return a.Stats(scope)
	}
	return nil, fmt.Errorf("there is no %q to get", what)
}
