package oneoff

import (
	"testing"
	"time"

	"windtunnel/traffic"
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
