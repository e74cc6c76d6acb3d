//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/result"
)

// helloTimeout bounds how long a started agent may take to greet.
const helloTimeout = 10 * time.Second

// peer is the asking side of the protocol: the conductor towards a node agent,
// a node agent towards its workers.
type peer struct {
	stream *lines
	hello  proto.Hello

	mu      sync.Mutex
	next    int
	waiting map[int]chan proto.Reply
	ended   chan struct{} // closed when the stream ended; why is set before
	why     error
}

// connect reads the hello and starts to listen for replies. The goroutine ends
// with the stream.
func connect(in io.Reader, out io.Writer) (*peer, error) {
	p := &peer{stream: newLines(in, out), waiting: map[int]chan proto.Reply{}, ended: make(chan struct{})}
	greeted := make(chan error, 1)
	go func() {
		err := p.readHello()
		greeted <- err
		if err == nil {
			err = p.listen()
		}
		p.end(err)
	}()
	select {
	case err := <-greeted:
		return p, err
	case <-time.After(helloTimeout):
		return nil, fmt.Errorf("no hello within %s", helloTimeout)
	}
}

func (p *peer) readHello() error {
	line, err := p.stream.read()
	if err != nil {
		return fmt.Errorf("reading the hello: %w", err)
	}
	if err := json.Unmarshal(line, &p.hello); err != nil {
		return fmt.Errorf("not an agent's hello: %.500q", line)
	}
	if p.hello.Windtunnel != proto.Version {
		return fmt.Errorf("it speaks version %d of the agent protocol, this is version %d; use the same windtunnel on every node",
			p.hello.Windtunnel, proto.Version)
	}
	return nil
}

func (p *peer) listen() error {
	for {
		line, err := p.stream.read()
		if err != nil {
			return err
		}
		var reply proto.Reply
		if err := json.Unmarshal(line, &reply); err != nil {
			return fmt.Errorf("not a reply: %.80q", line)
		}
		p.mu.Lock()
		answer := p.waiting[reply.ID]
		delete(p.waiting, reply.ID)
		p.mu.Unlock()
		if answer != nil {
			answer <- reply
		}
	}
}

func (p *peer) end(why error) {
	if why == nil || errors.Is(why, io.EOF) {
		why = errors.New("it ended")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = why
	close(p.ended)
}

// dead returns why the stream ended, nil while it lives.
func (p *peer) dead() error {
	select {
	case <-p.ended:
		return p.why
	default:
		return nil
	}
}

// ask sends a request and waits for its reply. A reply that holds an error is
// returned as one.
func (p *peer) ask(ctx context.Context, request proto.Request) (proto.Reply, error) {
	answer := make(chan proto.Reply, 1)
	p.mu.Lock()
	p.next++
	request.ID = p.next
	p.waiting[request.ID] = answer
	p.mu.Unlock()
	defer p.forget(request.ID)
	if err := p.stream.write(request); err != nil {
		// Why the stream ended says more than that it has.
		_ = within(lastWordsPatience, "ending", func() error { <-p.ended; return nil })
		if dead := p.dead(); dead != nil {
			err = dead
		}
		return proto.Reply{}, fmt.Errorf("asking to %s: %w", request.Do, err)
	}
	select {
	case reply := <-answer:
		if reply.Error != "" {
			return reply, errors.New(fit(reply.Error))
		}
		return reply, nil
	case <-p.ended:
		return proto.Reply{}, fmt.Errorf("waiting for the answer to %s: %w", request.Do, p.why)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return proto.Reply{}, fmt.Errorf("it did not answer %s in time: %w", request.Do, ctx.Err())
		}
		return proto.Reply{}, fmt.Errorf("waiting for the answer to %s: %w", request.Do, ctx.Err())
	}
}

// mostWords bounds what a stranger may say to a person, in bytes.
const mostWords = 16 << 10

// fit makes a stranger's lines fit for a terminal.
func fit(text string) string {
	if len(text) > mostWords {
		text = strings.ToValidUTF8(text[:mostWords], "") + " ..."
	}
	return result.CleanLines(text)
}

func (p *peer) forget(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}
