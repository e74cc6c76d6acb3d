package command

import (
	"context"
	"errors"

	"windtunnel/traffic/iperf3"
)

// test runs a client's test.
func (p *program) test(ctx context.Context) int {
	if p.output.json {
		return p.testJSON(ctx)
	}
	p.greet()
	t := newText(p.screen, p.output, unmarked)
	shown := &ended{Observer: t}
	err := p.engine.run(ctx, p.telling(t.asked), p.traced(shown))
	switch {
	case errors.Is(err, iperf3.ErrInterrupted) || err != nil && ctx.Err() != nil:
		p.screen.complain("%s", interrupted(ctx, "client"))
		return exitDone
	case err != nil:
		p.screen.complain("error - %s", says(err))
		return exitFailed
	}
	t.done(shown.end)
	return exitDone
}

// telling are the client's options, by which asked hears that the server was told of the test.
func (p *program) telling(asked func(iperf3.Start)) iperf3.Options {
	o := p.client
	o.Asked = asked
	return o
}

func unmarked() string { return "" }

// ended keeps a test's result for its last words.
type ended struct {
	iperf3.Observer
	end iperf3.End
}

func (e *ended) Ended(end iperf3.End) {
	e.end = end
	e.Observer.Ended(end)
}

func (p *program) testJSON(ctx context.Context) int {
	r := newReport(p.screen, p.output, false)
	r.about.Test.Title, r.about.Test.ExtraData = p.client.Title, p.client.ExtraData
	err := p.engine.run(ctx, p.telling(r.asked), p.traced(r))
	switch {
	case errors.Is(err, iperf3.ErrInterrupted) || err != nil && ctx.Err() != nil:
		r.finish(interrupted(ctx, "client"))
		return exitDone
	case err != nil:
		r.finish(says(err))
		return exitFailed
	}
	r.finish("")
	return exitDone
}
