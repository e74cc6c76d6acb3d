package oneoff

import (
	"net"
	"strings"
	"testing"

	"windtunnel/result"
)

// TestFiguresThatCannotBeAreRefused: 295,100,000 Tbit/s were told as received, and that the rate was reached by them.
func TestFiguresThatCannotBeAreRefused(t *testing.T) {
	for says, last := range map[string]string{
		"":                   `{"say":"end","end":{"window_seconds":1,"bytes":1250000000000,"packets":1,"cpu_seconds":1.01,"threads":1,"arrived":{"expected":2,"lost":1}}}`,
		"in 1 s":             `{"say":"end","end":{"window_seconds":1,"bytes":18446744073709551615}}`,
		"-5 s":               `{"say":"end","end":{"window_seconds":-5}}`,
		"-3 threads":         `{"say":"end","end":{"window_seconds":1,"threads":-3}}`,
		"100 s of CPU":       `{"say":"failed","why":"x","end":{"window_seconds":1,"threads":1,"cpu_seconds":100}}`,
		"lost and 0 late":    `{"say":"end","end":{"window_seconds":1,"arrived":{"expected":1,"lost":7}}}`,
		"4 bytes and":        `{"say":"end","end":{"window_seconds":1,"opposite":{"window_seconds":0.1,"bytes":4,"packets":18446744073709551615}}}`,
		"without its result": `{"say":"end"}`,
		"stood still for":    `{"say":"end","end":{"window_seconds":1,"stood_seconds":5000}}`,
		"an interval of 1 s": `{"say":"interval","interval":{"from":0,"to":1,"bytes":3000000000000000000}}`,
		"7 lost ones in":     `{"say":"interval","interval":{"from":0,"to":0.1,"packets":18446744073709551615,"lost":7}}`,
	} {
		here, there := net.Pipe()
		go func() { there.Write([]byte(last + "\n")); there.Close() }()
		shown := func(i result.Interval) { t.Errorf("%+v is shown", i) }
		r := &remote{wire: newWire(here, longestReply), intervals: shown, broken: func(error) {}}
		r.listen()
		here.Close()
		if says == "" && (r.err != nil || r.end == nil) || says != "" && (r.err == nil || r.end != nil || !strings.Contains(r.err.Error(), says)) {
			t.Errorf("%s: %v, %+v; want a word of %q", last, r.err, r.end, says)
		}
	}
}
