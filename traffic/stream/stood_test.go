package stream

import (
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestAWorkerKnowsThatItStoodStill: a thread of a program that is stopped, or has no CPU, is late for whatever it wakes for.
func TestAWorkerKnowsThatItStoodStill(t *testing.T) {
	w := &worker{closing: make(chan struct{})}
	w.stood = 1500 * time.Millisecond
	near, far := connected(t, 1)
	defer far[0].Close()
	e := newTestEngine(t, []Flow{{Conn: near[0], Role: traffic.Receive}}, Config{})
	e.Start()
	for _, past := range []time.Duration{time.Hour, -time.Millisecond} { // what is over is nothing that it was late for once more
		at := time.Now().Add(-past)
		if err := w.sleep(t.Context(), e, at, at); err != nil || w.stood != 1500*time.Millisecond {
			t.Errorf("stood for %s after a time that was over for %s: %v", w.stood, past, err)
		}
	}
	end := w.report(e, e.Snapshot(), e.Snapshot())
	if end.StoodSeconds != 1.5 {
		t.Errorf("%g s are told", end.StoodSeconds)
	}
}
