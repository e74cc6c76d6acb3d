package agent

import (
	"context"
	"io"
	"testing"
	"time"

	"windtunnel/agent/proto"
)

// TestHeartbeatsAreHeardWhileAStopLasts: an agent that hears none ends by itself, and ending a load may take longer than that on a busy
// machine. What comes after the stop waits for it, or it would drop what was made ready since.
func TestHeartbeatsAreHeardWhileAStopLasts(t *testing.T) {
	heard, stopped := make(chan struct{}), false
	p := greeted(t, "agent", func(in io.Reader, out io.Writer) error {
		return serve(context.Background(), newLines(in, out), proto.Hello{Windtunnel: proto.Version}, func(_ context.Context, ask proto.Request) proto.Reply {
			switch ask.Do {
			case proto.DoHeartbeat:
				close(heard)
			case proto.DoStop:
				<-heard
				stopped = true
			case proto.DoPrepare:
				if !stopped {
					return refuse("it was made ready before what came earlier was stopped")
				}
			}
			return proto.Reply{}
		})
	})
	var answers []chan proto.Reply
	for _, do := range []string{proto.DoStop, proto.DoPrepare, proto.DoHeartbeat} { // in this order on the wire, whoever answers first
		answers = append(answers, make(chan proto.Reply, 1))
		p.mu.Lock()
		p.next++
		request := proto.Request{ID: p.next, Do: do}
		p.waiting[request.ID] = answers[len(answers)-1]
		p.mu.Unlock()
		if err := p.stream.write(request); err != nil {
			t.Fatal(err)
		}
	}
	for i, answer := range answers {
		select {
		case reply := <-answer:
			if reply.Error != "" {
				t.Error(reply.Error)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no answer to request %d", i+1)
		}
	}
}
