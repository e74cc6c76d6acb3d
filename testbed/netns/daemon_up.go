package netns

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"windtunnel/testbed"
)

// ready is the first line of a daemon of ours that is up.
type ready struct {
	Ready bool   `json:"ready"`
	Error string `json:"error,omitempty"`
}

// awaitUp waits until a daemon is up, in the way that the graph says of it.
func (d *daemon) awaitUp(ctx context.Context, said <-chan string) error {
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		select {
		case line := <-said:
			return d.heard(line)
		case <-look.C:
			if takesConnections(d.want.Up.Socket) {
				return nil
			}
		case <-d.ended:
			return fmt.Errorf("%s ended before it was ready (%v)%s", d.Name, d.err, d.stderr.Quoted())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w%s", d.Name, context.Cause(ctx), d.stderr.Quoted())
		case <-late.C:
			return fmt.Errorf("%s did not say that it is ready within %s%s", d.Name, readyWithin, d.stderr.Quoted())
		}
	}
}

// heard judges the line that a daemon said.
func (d *daemon) heard(line string) error {
	if d.want.Up != (testbed.Up{}) {
		return nil // it is the text that was waited for
	}
	var r ready
	if err := json.Unmarshal([]byte(line), &r); err != nil || !r.Ready {
		return fmt.Errorf("%s is not ready but says %q%s", d.Name, line, d.stderr.Quoted())
	}
	return nil
}

func takesConnections(socket string) bool {
	if socket == "" {
		return false
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// waited passes on what is written to it, and tells once that a text was in it.
type waited struct {
	io.Writer
	text  string // none: nothing is waited for
	heard chan<- string

	mu   sync.Mutex
	tail string // what may be the text's beginning
	done bool
}

// Write fails only where the other writer does.
func (w *waited) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done && w.text != "" {
		w.tail += string(p)
		if strings.Contains(w.tail, w.text) {
			w.done = true
			w.heard <- w.text // it has room for one
		}
		w.tail = w.tail[max(0, len(w.tail)-len(w.text)):]
	}
	return w.Writer.Write(p)
}
