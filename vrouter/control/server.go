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

// Request is one line to the socket: exactly one of its parts.
type Request struct {
	Get    string          `json:"get,omitempty"`
	Apply  json.RawMessage `json:"apply,omitempty"`
	Routes json.RawMessage `json:"routes,omitempty"`
}

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
			reply(conn, map[string]any{"ok": false, "error": err.Error()})
		}
		if err != nil {
			return
		}
		if !reply(conn, a.answer(line)) {
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

func reply(conn net.Conn, value any) bool {
	conn.SetWriteDeadline(time.Now().Add(requestTime))
	return json.NewEncoder(conn).Encode(value) == nil
}

// answer is a request's reply: {"ok":true,"<what>":...} or {"ok":false,"error":"..."}.
func (a *Agent) answer(line []byte) map[string]any {
	what, value, err := a.handle(line)
	if err != nil {
		return map[string]any{"ok": false, "error": err.Error()}
	}
	return map[string]any{"ok": true, what: value}
}

func (a *Agent) handle(line []byte) (what string, value any, err error) {
	var request Request
	if err := json.Unmarshal(line, &request); err != nil {
		return "", nil, fmt.Errorf("reading the request: %w", err)
	}
	switch {
	case request.Get != "" && request.Apply == nil && request.Routes == nil:
		value, err = a.get(request.Get)
		return request.Get, value, err
	case request.Get == "" && request.Apply != nil && request.Routes == nil:
		c, err := config.Parse(request.Apply, "")
		if err == nil {
			err = a.Apply(c)
		}
		return "status", a.Status(), err
	case request.Get == "" && request.Apply == nil && request.Routes != nil:
		changes, err := config.ParseChanges(request.Routes)
		if err != nil {
			return "", nil, err
		}
		value, err = a.ChangeRoutes(changes)
		return "routes", value, err
	}
	return "", nil, errors.New(`a request is {"get":"..."}, {"apply":{...}} or {"routes":[...]}`)
}

func (a *Agent) get(what string) (any, error) {
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
	case "drops":
		return a.Drops()
	case "stats":
		return a.Stats()
	}
	return nil, fmt.Errorf("there is no %q to get; there is status, vif, nh, rt, mpls, drops, stats", what)
}
