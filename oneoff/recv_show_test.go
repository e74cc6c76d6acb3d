package oneoff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestWhatAReceiverTells has the time at which it was so, also where it is told later, and each reason once.
func TestWhatAReceiverTells(t *testing.T) {
	at := time.Date(2026, 11, 28, 16, 0, 1, 5e6, time.UTC)
	e := traffic.ServerEvent{
		Protocol: "native", Session: 3, Client: "192.0.2.1:7", What: traffic.SessionFailed, Says: "the sender went away",
		End: &result.PairEnd{WindowSeconds: 2, Bytes: 250_000, Error: "the sender went away"},
	}
	asked := traffic.ServerEvent{Protocol: "native", Session: 4, Client: "192.0.2.1:7", What: traffic.SessionEnded, Requests: true, End: &result.PairEnd{WindowSeconds: 2, Bytes: 250_000, Packets: 2500}}
	for want, show := range map[string]func(*strings.Builder){
		"16:00:01  native #4  192.0.2.1:7  ended: 1.000 Mbit/s for 2.0 s, 2500 requests, 1.250 k/s\n": func(out *strings.Builder) { RecvText{out}.Event(at, asked) },
		`{"at":"2026-11-28T16:00:01.005Z","protocol":"native","session":4,"client":"192.0.2.1:7","what":"ended","requests":true,"end":{`: func(out *strings.Builder) {
			RecvJSON{Out: out}.Event(at, asked)
		},
		"16:00:01  native #3  192.0.2.1:7  failed: the sender went away: 1.000 Mbit/s for 2.0 s\n": func(out *strings.Builder) { RecvText{out}.Event(at, e) },
		`{"at":"2026-11-28T16:00:01.005Z","protocol":"native","session":3,"client":"192.0.2.1:7","what":"failed","says":"the sender went away","end":{`: func(out *strings.Builder) {
			RecvJSON{Out: out}.Event(at, e)
		},
		`{"at":"2026-11-28T16:00:01.005Z","what":"listening","protocol":"native","addresses":["[::]:5210"]}` + "\n": func(out *strings.Builder) {
			RecvJSON{Out: out}.Listens(at, "native", []string{"[::]:5210"})
		},
	} {
		var out strings.Builder
		if show(&out); !strings.HasPrefix(out.String(), want) {
			t.Errorf("told %q, want %q", out.String(), want)
		}
	}
}

// TestALossThatIsNotKnown is no share of what was expected: 0 % lost would be the best of all.
func TestALossThatIsNotKnown(t *testing.T) {
	a := result.Arrived{Expected: 9000, Late: 10, Untold: []result.Metric{result.Loss}, Why: "the sender ended without a word"}
	said := cameIn(result.PairEnd{WindowSeconds: 1, Bytes: 64_000, Packets: 1000, Arrived: &a}, false)
	var summary strings.Builder
	arrivals(func(_, format string, args ...any) { fmt.Fprintf(&summary, format, args...) }, &a, false)
	for _, text := range []string{said, summary.String()} {
		if !strings.Contains(text, "what was lost is not known: the sender ended without a word") || strings.Contains(text, "%") {
			t.Error(text)
		}
	}
}
