package oneoff

import (
	"testing"

	"windtunnel/result"
)

// TestWhatFramesTake: a session of a million flows has 32 MiB of the kernel's memory, so that a receiver's bound is one on their number, too.
func TestWhatFramesTake(t *testing.T) {
	for kind, c := range map[string]struct {
		given       result.Options
		least, most int64
	}{
		"frame":    {result.Options{"flows": int64(1_000_000)}, 30 << 20, 40 << 20},
		"stream":   {result.Options{}, 1 << 10, 1 << 20},
		"datagram": {result.Options{}, 1 << 10, 1 << 20},
	} {
		known, err := KindByName(kind)
		if err != nil {
			continue // frames are Linux's
		}
		load, err := complete(known, c.given)
		if err != nil {
			t.Fatal(err)
		}
		if bytes := memoryOf(load); bytes < c.least || bytes > c.most {
			t.Errorf("%s takes %d bytes", kind, bytes)
		}
	}
}
