package oneoff

import (
	"encoding/json"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/ping"
	"windtunnel/traffic/stream"
)

// TestTimesSurviveTheWire: an interval that is a nanosecond shorter at the other end does not divide the window there.
func TestTimesSurviveTheWire(t *testing.T) {
	for d := minInterval; d <= 20*time.Second; d += time.Millisecond {
		if got := seconds(d.Seconds()); got != d {
			t.Fatalf("%s is %d ns more at the other end", d, got-d)
		}
	}
}

// TestABoundOfBytesCutsIntervalsEvenly: intervals that are looked at in parts have no more of those in the window than go into it, or a
// last one of no length had a line of its own.
func TestABoundOfBytesCutsIntervalsEvenly(t *testing.T) {
	s := &session{server: &native{config: traffic.ServerConfig{MaxBytes: 1e12}}, times: times{interval: 700 * time.Millisecond, window: 2100 * time.Millisecond}}
	when, _ := s.schedule(time.Now(), nil, nil)
	if parts := (s.times.window + when.Interval - 1) / when.Interval; parts != 9 {
		t.Errorf("the window has %d intervals of %s, not 3 for each of 3", parts, when.Interval)
	}
}

// TestALongMeasurementsResultFitsItsLine: of a load that flows both ways the receiver's end has the intervals of what it sent, of which
// a long measurement has more than a line of the protocol holds.
func TestALongMeasurementsResultFitsItsLine(t *testing.T) {
	for many, kept := range map[int]bool{1000: true, int(maxWindow / minInterval): false} {
		back := make([]result.Interval, many)
		for i := range back {
			at := float64(i) * minInterval.Seconds()
			back[i] = result.Interval{From: at + 1e-9, To: at + minInterval.Seconds(), Bytes: 1 << 40, Retransmits: 1}
		}
		s := &session{server: &native{}, times: times{window: maxWindow, interval: minInterval}}
		if err := s.conclude(result.PairEnd{WindowSeconds: 1, Opposite: &result.PairEnd{Intervals: back}}, nil, nil); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(reply{Say: sayEnd, End: s.end})
		if err != nil || len(line) >= longestReply || kept != (len(s.end.Opposite.Intervals) == many) {
			t.Errorf("of %d intervals %d are told in %d bytes: %v", many, len(s.end.Opposite.Intervals), len(line), err)
		}
	}
}

// TestALongWaitForAnswersIsWaitedFor: who asks waits for the window's last answer, and may ask late, so its receiver is not done before. It was
// given up 15 s after the window, with "the worker did not end", where answers were lost that were waited for longer.
func TestALongWaitForAnswersIsWaitedFor(t *testing.T) {
	for _, wait := range []float64{1, 20, 60} {
		s := &session{kind: ping.Kind{}, load: filled(t, "ping", result.Options{"protocol": "udp", "wait": wait})}
		if has, takes := s.patience(), seconds(1.5*wait)+traffic.LongestQueue+3*time.Second; has < takes {
			t.Errorf("a receiver whose sender waits %g s for an answer is given up %s after the window, and takes up to %s", wait, has, takes)
		}
	}
	if s := (&session{kind: stream.Kind{}}); s.patience() != endPatience {
		t.Errorf("one of streams is given up after %s", s.patience())
	}
}
