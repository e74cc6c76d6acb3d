package ktime

import (
	"testing"
	"time"
)

func TestOffsets(t *testing.T) {
	const text = "monotonic      864000         5\nboottime           -3 500000000\n"
	for clock, want := range map[string]time.Duration{
		"monotonic": 240*time.Hour + 5, "boottime": -2500 * time.Millisecond, "realtime": 0,
	} {
		if got := offset(text, clock); got != want {
			t.Errorf("%s: %s, want %s", clock, got, want)
		}
	}
	if got := offset("monotonic 1\n\nboottime", "monotonic"); got != 0 {
		t.Errorf("of half a line: %s", got)
	}
}
