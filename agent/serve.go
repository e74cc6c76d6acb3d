package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"windtunnel/agent/proto"
)

// answerPatience is how long a request that is under way may take to end, once
// the stream has.
const answerPatience = 5 * time.Second

// asideAtOnce bounds how many requests are under way beside the one whose turn it is.
const asideAtOnce = 256

// queued is a request that waits for its turn, and for the last stop that came before it.
type queued struct {
	ask     proto.Request
	stopped <-chan struct{}
}

// serve writes the hello and answers requests until the stream ends or breaks,
// or ctx does. Requests are answered in the order in which they came, each by a
// call of handle, except stop: it is handled at once, so that it can end a trial
// that a result waits for, while heartbeats are heard, and what comes after it waits
// for its end; and carry, which is answered beside the others, because ends that get
// ready or run wait for what is carried.
func serve(ctx context.Context, stream *lines, hello proto.Hello, handle func(context.Context, proto.Request) proto.Reply) error {
	if err := stream.write(hello); err != nil {
		return fmt.Errorf("greeting the conductor: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	queue := make(chan queued, 64)
	answer := func(ask proto.Request) {
		reply := handle(ctx, ask)
		reply.ID = ask.ID
		if err := stream.reply(reply); err != nil {
			cancel(fmt.Errorf("answering: %w", err))
		}
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for next := range queue {
			<-next.stopped
			answer(next.ask)
		}
	}()
	never := make(chan struct{})
	close(never)
	along := &alongside{under: make(chan struct{}, asideAtOnce), answer: answer, stopped: never}
	err := readRequests(ctx, stream, queue, answer, along)
	cancel(nil)
	close(queue)
	return errors.Join(err, within(answerPatience, "ending the last request", func() error { <-answered; along.all.Wait(); return nil }))
}

// alongside answers requests beside the others, so many at once.
type alongside struct {
	under   chan struct{}
	answer  func(proto.Request)
	all     sync.WaitGroup
	stopped <-chan struct{} // closed at the end of the last stop that came
}

// take answers a request to carry or to stop, and queues any other, unless too many are under way.
func (b *alongside) take(ask proto.Request, queue chan<- queued) bool {
	switch ask.Do {
	case proto.DoCarry:
		return b.beside(func() { b.answer(ask) })
	case proto.DoStop:
		before, done := b.stopped, make(chan struct{})
		taken := b.beside(func() {
			defer close(done)
			<-before
			b.answer(ask)
		})
		if taken {
			b.stopped = done
		}
		return taken
	}
	select {
	case queue <- queued{ask, b.stopped}:
		return true
	default:
		return false
	}
}

func (b *alongside) beside(answer func()) bool {
	select {
	case b.under <- struct{}{}:
	default:
		return false
	}
	b.all.Go(func() {
		answer()
		<-b.under
	})
	return true
}

// within waits for f, but not longer than limit: this process is about to end,
// and then the kernel takes away whatever hangs.
func within(limit time.Duration, what string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return fmt.Errorf("%s took longer than %s", what, limit)
	}
}

// incoming is a line, or why there is no more.
type incoming struct {
	line []byte
	err  error
}

// receive reads lines beside those who wait for them, who may so give up: a
// conductor that is stopped or cut off neither writes nor ends the stream. Its
// goroutine ends with the stream, or with the process.
func receive(ctx context.Context, stream *lines) <-chan incoming {
	lines := make(chan incoming)
	go func() {
		for {
			line, err := stream.read()
			select {
			case lines <- incoming{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

func readRequests(ctx context.Context, stream *lines, queue chan<- queued, now func(proto.Request), along *alongside) error {
	lines := receive(ctx, stream)
	for {
		select {
		case in := <-lines:
			if errors.Is(in.err, io.EOF) {
				return nil
			}
			if in.err != nil {
				return fmt.Errorf("reading requests: %w", in.err)
			}
			if err := dispatch(stream, in.line, queue, now, along); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("told to end: %w", context.Cause(ctx))
		}
	}
}

// dispatch queues a request, or has it answered at once, or beside the others.
func dispatch(stream *lines, line []byte, queue chan<- queued, now func(proto.Request), along *alongside) error {
	var ask proto.Request
	if err := json.Unmarshal(line, &ask); err != nil {
		return stream.write(refuse("not a request: %v", err))
	}
	if ask.Do == proto.DoHeartbeat {
		now(ask)
		return nil
	}
	if taken := along.take(ask, queue); taken {
		return nil
	}
	reply := refuse("too many requests wait; read the replies first")
	reply.ID = ask.ID
	return stream.write(reply)
}

// reply answers a request. Who asks must hear of an answer that cannot be sent,
// or it would wait for it.
func (l *lines) reply(r proto.Reply) error {
	err := l.write(r)
	if errors.Is(err, errTooLong) || errors.Is(err, errTooMany) {
		return l.write(proto.Reply{ID: r.ID, Error: fmt.Sprintf("its answer cannot be sent: %v", err)})
	}
	return err
}

func refuse(format string, args ...any) proto.Reply {
	return proto.Reply{Error: fmt.Sprintf(format, args...)}
}
