package oneoff

import (
	"context"
	"testing"
	"time"

	"windtunnel/result"
)

// TestASenderByHandIsTold: the receiver's worker may spend CPU time, which nobody compares, as the sender's may.
func TestASenderByHandIsTold(t *testing.T) {
	_, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := &session{server: &native{}, times: times{time.Second, 2 * time.Second, time.Second}}
	when, _ := s.schedule(time.Now(), make(chan result.Interval, 1), cancel)
	if !when.OneOff || when.WarmUp != time.Second || when.Window != 2*time.Second {
		t.Errorf("%+v", when)
	}
}
