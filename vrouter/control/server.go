package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
)

// Request is one line to the socket: exactly one of Get, Apply, Routes, Trace and Watch.
type Request struct {
	Get     string          `json:"get,omitempty"`
	Network string          `json:"network,omitempty"` // of stats and drops: only this network's
	Port    string          `json:"port,omitempty"`    // only this port's
	Limit   int             `json:"limit,omitempty"`   // of flow: how many are listed
	Apply   json.RawMessage `json:"apply,omitempty"`
	DryRun  bool            `json:"dry_run,omitempty"` // apply nothing, and tell what would change
	Routes  json.RawMessage `json:"routes,omitempty"`
	Trace   *TraceRequest   `json:"trace,omitempty"`
	Watch   *WatchRequest   `json:"watch,omitempty"`
}

// reply's keys.
type reply map[string]any

const (
	maxRequest = config.MaxBytes + 64
	// requestTime bounds reading one request and writing its reply; idleTime, waiting for the next.
	requestTime = 10 * time.Second
	idleTime    = 5 * time.Minute
	maxClients  = 64
)

// Serve answers at a Unix socket until the context ends. It makes the socket, for its owner only,
// and removes it.
func (a *Agent) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var clients sync.WaitGroup
	defer clients.Wait()
	context.AfterFunc(ctx, func() { listener.Close() })
	room := make(chan struct{}, maxClients)
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("serving %s: %w", listener.Addr(), err)
		}
		room <- struct{}{}
		clients.Add(1)
		go func() {
			defer clients.Done()
			defer func() { <-room }()
			a.client(ctx, conn)
		}()
	}
}

// Listen makes the socket. A file there that nobody listens at is what a killed vRouter left.
func Listen(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is there and no socket; name another, or remove it", path)
		}
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return nil, fmt.Errorf("somebody serves %s already; name another socket", path)
		}
		os.Remove(path)
	}
	old := unix.Umask(0o177)
	listener, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("making the socket %s: %w", path, err)
	}
	return listener, nil
}

func (a *Agent) client(ctx context.Context, conn net.Conn) {
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
		if !send(conn, a.answer(ctx, line, viewer{conn})) {
			return
		}
	}
}

var errTooLong = fmt.Errorf("the request is longer than %d bytes", maxRequest)

// readLine waits for a request as long as idleTime, but once it has begun, no longer than
// requestTime.
func readLine(conn net.Conn, reader *bufio.Reader) ([]byte, error) {
	conn.SetReadDeadline(time.Now().Add(idleTime))
	if _, err := reader.Peek(1); err != nil {
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
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	parts := 0
	for _, there := range []bool{r.Get != "", r.Apply != nil, r.Routes != nil, r.Trace != nil, r.Watch != nil} {
		if there {
			parts++
		}
	}
	switch {
	case parts != 1:
	case r.Get != "":
		value, err := a.get(r.Get, Scope{r.Network, r.Port}, r.Limit)
		return reply{r.Get: value}, err
	case r.Apply != nil:
		return a.apply(r)
	case r.Routes != nil:
		return a.changeRoutes(r.Routes)
	case r.Trace != nil:
		value, err := a.Trace(*r.Trace)
		return reply{"trace": value}, err
	default:
		watched, err := a.Watch(ctx, *r.Watch, v)
		return reply{"watched": watched}, err
	}
	return nil, errors.New(`a request is {"get":"..."}, {"apply":{...}}, {"routes":[...]}, {"trace":{...}} or {"watch":{...}}`)
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
var Tables = []string{"status", "vif", "nh", "rt", "mpls", "vxlan", "mac", "flood", "flow", "drops", "stats"}

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
	case "drops":
		return a.Drops(scope)
	case "stats":
		return a.Stats(scope)
	}
	return nil, fmt.Errorf("there is no %q to get%s", what, config.Nearest(what, Tables))
}
