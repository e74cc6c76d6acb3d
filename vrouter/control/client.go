package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// Ask sends one request to a vRouter's socket and gives the reply's value, undecoded.
func Ask(socket string, request Request) (json.RawMessage, error) {
	var last json.RawMessage
	err := ask(context.Background(), socket, request, 2*requestTime, func(line []byte) (done bool, err error) {
		last, err = value(line, request.wants())
		return true, err
	})
	return last, err
}

// Watch sends a request to watch and gives each packet to tell, undecoded, until there are no more or
// the context ends, which is no error.
func Watch(ctx context.Context, socket string, r WatchRequest, tell func(json.RawMessage) error) error {
	limit := 2*requestTime + time.Duration(max(r.Seconds, watchSeconds))*time.Second
	err := ask(ctx, socket, Request{Watch: &r}, limit, func(line []byte) (done bool, err error) {
		if _, err := value(line, "ok"); err != nil {
			return true, err
		}
		if packet, err := value(line, "trace"); err != nil || packet != nil {
			return false, errors.Join(err, tell(packet))
		}
		return true, nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ask sends a request and gives each line of the reply to take, until that says that it was the last.
func ask(ctx context.Context, socket string, request Request, limit time.Duration, take func(line []byte) (done bool, err error)) error {
	conn, err := net.DialTimeout("unix", socket, requestTime)
	if err != nil {
		return fmt.Errorf("reaching the vRouter: %w; is `vrouter run --socket %s` running?", err, socket)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetDeadline(time.Now().Add(limit))
	asked := json.NewEncoder(conn).Encode(request)
	reader := bufio.NewReader(conn)
	for {
		line, err := reader.ReadBytes('\n')
		if asked != nil && err != nil { // else the vRouter says why it did not read all of it
			return fmt.Errorf("asking the vRouter: %w", asked)
		}
		if err != nil {
			return fmt.Errorf("reading the vRouter's reply: %w", err)
		}
		if done, err := take(line); done || err != nil {
			return err
		}
	}
}

// wants is the key of the reply's value.
func (r Request) wants() string {
	switch {
	case r.Apply != nil:
		return "changes"
	case r.Routes != nil:
		return "routes"
	case r.Sweep:
		return "sweep"
	case r.Trace != nil:
		return "trace"
	}
	return r.Get
}

func value(line []byte, what string) (json.RawMessage, error) {
	var reply map[string]json.RawMessage
	if err := json.Unmarshal(line, &reply); err != nil {
		return nil, fmt.Errorf("reading the vRouter's reply: %w", err)
	}
	if text, failed := reply["error"]; failed {
		var message string
		if err := json.Unmarshal(text, &message); err != nil {
			return nil, fmt.Errorf("reading the vRouter's error: %w", err)
		}
		err := errors.New(message)
		if string(reply["refused"]) == "true" {
			err = Refuse(err)
		}
		return nil, err
	}
	return reply[what], nil
}
