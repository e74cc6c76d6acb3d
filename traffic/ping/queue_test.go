package ping

import (
	"strings"
	"testing"
	"time"
)

// queuedEngine has answered one request more at each look, until none comes any more or the end does.
type queuedEngine struct {
	lateEngine
	looks, come int
	ends        chan struct{} // closed behind the last request; nil: that gets lost
}

func (e *queuedEngine) snapshot() snapshot {
	e.looks++
	if e.looks == e.come && e.ends != nil {
		close(e.ends)
	}
	return snapshot{seen: seen{requests: uint64(min(e.looks, e.come))}}
}

func (e *queuedEngine) ended() <-chan struct{} { return e.ends }

// TestRequestsComeOutOfAQueue: what ends the flows stands behind them, for seconds, and the receiver of a test by hand
// had failed, as if its sender had not ended them.
func TestRequestsComeOutOfAQueue(t *testing.T) {
	const fails = "did not end its flows"
	for name, c := range map[string]struct {
		come   int
		ends   bool
		oneOff bool
		looks  int
		says   string
	}{
		"at once":                      {1, true, true, 1, ""},
		"after five seconds":           {7, true, true, 7, ""},
		"in a suite, whose next waits": {7, true, false, 2, fails},
		"the end is lost":              {7, false, true, 8, fails},
		"without end":                  {1000, false, true, 12, "did not end its flows: a queue on the way still brought some of it"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &queuedEngine{come: c.come}
			if c.ends {
				e.ends = make(chan struct{})
			}
			w := &worker{closing: make(chan struct{})}
			err := w.answerToEnd(t.Context(), e, time.Now().Add(-time.Minute), c.oneOff)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("it ends with %v", err)
			}
			if e.looks != c.looks {
				t.Errorf("looked %d times, not %d", e.looks, c.looks)
			}
		})
	}
}
