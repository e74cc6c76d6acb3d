package command

import (
	"encoding/json"
	"fmt"

	"windtunnel/traffic/iperf3"
)

// tracer tells on stderr what an Observer is told: -d.
type tracer struct {
	to     iperf3.Observer
	screen *screen
	level  int
}

// traced wraps an Observer where -d asks for it, and tells what was understood.
func (p *program) traced(to iperf3.Observer) iperf3.Observer {
	if p.output.debug == 0 {
		return to
	}
	t := &tracer{to: to, screen: p.screen, level: p.output.debug}
	if p.role == ofClient {
		asked := p.client
		asked.Password, asked.PublicKey = "", nil // a secret, and a key that fills the screen
		t.say(debugAsked, "asked for", asked)
	}
	return t
}

func (t *tracer) say(level int, what string, value any) {
	if level <= t.level {
		t.screen.note("debug: %s %+v", what, value)
	}
}

func (t *tracer) Connected(s iperf3.Start) {
	if t.say(debugEvents, "connected", s); s.Server {
		t.say(debugAsked, "asked for", s.Test)
	}
	t.to.Connected(s)
}

func (t *tracer) Interval(i iperf3.Interval) {
	t.say(debugIntervals, "interval", jsonOf(i))
	t.to.Interval(i)
}

func (t *tracer) Ended(e iperf3.End) {
	t.say(debugEvents, "ended", jsonOf(e))
	t.to.Ended(e)
}

func (t *tracer) Failed(err error) {
	t.say(debugFailures, "failed", err)
	t.to.Failed(err)
}

// Transcript asks the Observer, if it keeps one.
func (t *tracer) Transcript() (string, json.RawMessage) {
	if keeps, ok := t.to.(iperf3.Transcriber); ok {
		return keeps.Transcript()
	}
	return "", nil
}

// jsonOf shows what pointers point to.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%+v", value)
	}
	return string(text)
}
