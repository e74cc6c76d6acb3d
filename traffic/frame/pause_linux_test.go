package frame

import (
	"context"
	"sync"
	"testing"
	"time"

	"windtunnel/traffic"
)

// waiting is a source of which a device takes so many frames a second, by how long it waits after refusals.
type waiting struct {
	source
	perSecond map[uint32]float64

	mu   sync.Mutex
	ns   uint32
	at   time.Time
	sent float64
}

func (w *waiting) pause(ns uint32) {
	w.counts(warmUp)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ns = ns
}

func (w *waiting) counts(int) (sent, refused uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.at.IsZero() {
		w.sent += w.perSecond[w.ns] * now.Sub(w.at).Seconds()
	}
	w.at = now
	return uint64(w.sent), 0
}

// TestTheBetterPauseIsKept: whichever it is, and the long one where there is no time to find out.
func TestTheBetterPauseIsKept(t *testing.T) {
	cases := map[string]struct {
		none, long float64
		warm       time.Duration
		kept       uint32
	}{
		"none is better":      {9e6, 7e6, time.Second, noPause},
		"long is better":      {7e6, 9e6, time.Second, longPause},
		"no time to find out": {9e6, 7e6, 10 * time.Millisecond, longPause},
		"no warm-up":          {9e6, 7e6, 0, longPause},
		"it is long over":     {9e6, 7e6, -time.Second, longPause}, // as where the program was stopped meanwhile
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &waiting{perSecond: map[uint32]float64{noPause: c.none, longPause: c.long}}
			e := &engine{sources: []source{w}}
			under := &course{when: traffic.Schedule{Start: time.Now(), WarmUp: c.warm, Window: time.Second}, failure: func() error { return nil }}
			if err := e.choosePause(context.Background(), under); err != nil {
				t.Fatal(err)
			}
			if w.ns != c.kept {
				t.Errorf("it waits for %d ns after refusals; want %d", w.ns, c.kept)
			}
		})
	}
}
