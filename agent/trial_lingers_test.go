//go:build linux

package agent

import (
	"testing"
	"time"

	"windtunnel/result"
)

// TestAWorkerThatWaitsForAnswersIsWaitedFor: it was killed 3 s after the window, where answers were lost that are waited for 2 s and more, of
// requests that may leave late by half of that.
func TestAWorkerThatWaitsForAnswersIsWaitedFor(t *testing.T) {
	long, other := &workerProcess{}, &workerProcess{}
	for wait, takes := range map[float64]time.Duration{1: 2500 * time.Millisecond, 2: 4 * time.Second, 20: 31 * time.Second} {
		prepared := []preparedPair{
			{worker: other, lingers: Lingers("stream", result.Options{})},
			{worker: long, lingers: Lingers("ping", result.Options{"protocol": "udp", "wait": wait})},
			{worker: long, lingers: Lingers("stream", result.Options{})},
		}
		if has := reportsWithin(prepared, long); has < takes {
			t.Errorf("one that waits %g s for an answer may take %s, and takes up to %s", wait, has, takes)
		}
		if has := reportsWithin(prepared, other); has != resultPatience {
			t.Errorf("one of streams may take %s", has)
		}
	}
}
