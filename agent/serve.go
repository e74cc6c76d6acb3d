package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"windtunnel/agent/proto"
)

// serve writes the hello and answers requests until the stream ends or breaks.
// Requests are answered in the order in which they came, each by a call of
// handle, except stop: it is handled at once, so that it can end a trial that a
// result waits for.
func serve(ctx context.Context, stream *lines, hello proto.Hello, handle func(context.Context, proto.Request) proto.Reply) error {
	if err := stream.write(hello); err != nil {
		return fmt.Errorf("greeting the conductor: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var answering sync.WaitGroup
	queue := make(chan proto.Request, 64)
	answer := func(ask proto.Request) {
		reply := handle(ctx, ask)
		reply.ID = ask.ID
		if err := stream.write(reply); err != nil {
			cancel()
		}
	}
	answering.Go(func() {
		for ask := range queue {
			answer(ask)
		}
	})
	err := readRequests(ctx, stream, queue, answer)
	cancel()
	close(queue)
	answering.Wait()
	return err
}

func readRequests(ctx context.Context, stream *lines, queue chan<- proto.Request, now func(proto.Request)) error {
	for {
		line, err := stream.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading requests: %w", err)
		}
		var ask proto.Request
		if err := json.Unmarshal(line, &ask); err != nil {
			if err := stream.write(refuse("not a request: %v", err)); err != nil {
				return err
			}
			continue
		}
		if ask.Do == proto.DoStop || ask.Do == proto.DoHeartbeat {
			now(ask)
			continue
		}
		select {
		case queue <- ask:
		case <-ctx.Done():
			return ctx.Err()
		default:
			reply := refuse("too many requests wait; read the replies first")
			reply.ID = ask.ID
			if err := stream.write(reply); err != nil {
				return err
			}
		}
	}
}

func refuse(format string, args ...any) proto.Reply {
	return proto.Reply{Error: fmt.Sprintf(format, args...)}
}
