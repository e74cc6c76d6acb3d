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
}

// traced wraps an Observer where -d asks for it, and tells what was understood.
func (p *program) traced(to iperf3.Observer) iperf3.Observer {
	if !p.output.debug {
		return to
	}
	t := &tracer{to: to, screen: p.screen}
	if p.role == ofClient {
		asked := p.client
		asked.Password, asked.PublicKey = "", nil // a secret, and a key that fills the screen
		t.say("asked for", asked)
	}
	return t
}

func (t *tracer) say(what string, value any) { t.screen.complain("debug: %s %+v", what, value) }

func (t *tracer) Connected(s iperf3.Start) { t.say("connected", s); t.to.Connected(s) }

func (t *tracer) Interval(i iperf3.Interval) { t.say("interval", jsonOf(i)); t.to.Interval(i) }

func (t *tracer) Ended(e iperf3.End) { t.say("ended", jsonOf(e)); t.to.Ended(e) }

func (t *tracer) Failed(err error) { t.say("failed", err); t.to.Failed(err) }

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
