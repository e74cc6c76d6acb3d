package ping

import (
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// TestAWindowThatNoRequestLeftInSaysWhy: the one before it had no answer, for which a closed loop waits. That none was answered was said of none.
func TestAWindowThatNoRequestLeftInSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		rate     float64
		expected uint64
		says     string
	}{
		"a closed loop that waits":   {0, 0, "no request left in the window: the one before it may have had no answer, which is waited for for 20s"},
		"a closed loop":              {0, 3, "no request was answered in the window"},
		"an open one with none due":  {0.1, 0, "no request was due"},
		"an open one without answer": {100, 200, "no request was answered in the window"},
	} {
		w := &worker{load: load{udp: true, rate: c.rate, wait: 20 * time.Second}}
		err := w.judge(result.PairEnd{Offered: &result.Offered{}, Arrived: &result.Arrived{Expected: c.expected, Lost: c.expected, Within: new(uint64)}})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
