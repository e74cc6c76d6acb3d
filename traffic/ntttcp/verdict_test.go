package ntttcp

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestLimit: what one end can say of what bounded a window of two seconds, and what it cannot.
func TestLimit(t *testing.T) {
	crowd := traffic.CrewTime{Threads: 10 * runtime.NumCPU(), CPU: time.Duration(runtime.NumCPU()) * time.Second}
	waited := traffic.CrewTime{Threads: 2, CPU: 200 * time.Millisecond, Wait: 900 * time.Millisecond}
	unknown := regexp.MustCompile(`arrived|\b0 %`) // of the other end, which says neither
	for name, c := range map[string]struct {
		test          Test
		spent         traffic.CrewTime
		busy, rwnd    time.Duration // of two connections
		calls         uint64
		stood         time.Duration
		verdict, says string
	}{
		"the path or the receiver":    {test: Test{Role: traffic.Send}, spent: traffic.CrewTime{Threads: 2, CPU: 2 * time.Second}, says: "busy 50 % of the time"},
		"the sender or the receiver":  {test: Test{Role: traffic.Send}, spent: traffic.CrewTime{Threads: 2, CPU: 3900 * time.Millisecond}, says: "busy 98 % of the time"},
		"no CPU":                      {test: Test{Role: traffic.Send}, spent: traffic.CrewTime{Threads: 2, CPU: 3 * time.Second, Wait: 900 * time.Millisecond}, verdict: result.GeneratorLimited, says: "no CPU for 22 %"},
		"the window was closed":       {test: Test{Role: traffic.Send}, spent: traffic.CrewTime{Threads: 2, CPU: time.Second}, rwnd: 3 * time.Second, verdict: result.ReceiverLimited, says: "75 % of the time (rwnd-limited)"},
		"no CPU at a rate":            {test: Test{Role: traffic.Send, BitsPerSecond: 3e6}, spent: waited, busy: time.Second, verdict: result.GeneratorLimited, says: "fell 33 % short"},
		"no CPU, and no need of one":  {test: Test{Role: traffic.Send, BitsPerSecond: 3e6}, spent: waited, busy: 4 * time.Second, says: "busy 5 % of the time"},
		"the rate":                    {test: Test{Role: traffic.Send, BitsPerSecond: 2e6}, spent: traffic.CrewTime{Threads: 2, CPU: time.Second}, verdict: result.RateReached, says: "4.00 Mbit/s of the 4.00 Mbit/s asked for were handed over"},
		"the rate, of datagrams":      {test: Test{Role: traffic.Send, UDP: true, BitsPerSecond: 2e6}, spent: traffic.CrewTime{Threads: 2, CPU: time.Second}, calls: 1000, says: "does not tell"},
		"a receiver that is full":     {test: Test{Role: traffic.Receive}, spent: traffic.CrewTime{Threads: 1, CPU: 2 * time.Second}, verdict: result.ReceiverLimited, says: "busy 100 % of the time"},
		"more threads than CPUs":      {test: Test{Role: traffic.Receive}, spent: crowd, says: "busy 50 % of the time"},
		"a sender that was stopped":   {test: Test{Role: traffic.Send}, spent: traffic.CrewTime{Threads: 2, CPU: time.Second}, stood: 700 * time.Millisecond, verdict: result.GeneratorLimited, says: "the sender's threads stood still for 35 %"},
		"stopped, and at no rate":     {test: Test{Role: traffic.Send, BitsPerSecond: 3e6}, spent: traffic.CrewTime{Threads: 2, CPU: time.Second}, busy: 2600 * time.Millisecond, stood: 700 * time.Millisecond, verdict: result.GeneratorLimited, says: "stood still for 35 %"},
		"stopped, and the path full":  {test: Test{Role: traffic.Send}, spent: traffic.CrewTime{Threads: 2, CPU: time.Second}, busy: 4 * time.Second, stood: 700 * time.Millisecond, says: "does not tell"},
		"a receiver that was stopped": {test: Test{Role: traffic.Receive}, spent: traffic.CrewTime{Threads: 1, CPU: time.Second}, stood: 700 * time.Millisecond, verdict: result.ReceiverLimited, says: "the receiver's threads stood still for 35 %"},
		"it too, of datagrams":        {test: Test{Role: traffic.Receive, UDP: true}, spent: traffic.CrewTime{Threads: 1, CPU: time.Second}, stood: 700 * time.Millisecond, verdict: result.ReceiverLimited, says: "the receiver's threads stood still for 35 %"},
		"stopped for a moment":        {test: Test{Role: traffic.Receive}, spent: traffic.CrewTime{Threads: 1, CPU: time.Second}, stood: 100 * time.Millisecond, says: "does not tell"},
		"a receiver that is not full": {test: Test{Role: traffic.Receive}, spent: traffic.CrewTime{Threads: 2, CPU: time.Second}, says: "busy 25 % of the time"},
	} {
		before := tally{}
		after := tally{flows: 2, spent: c.spent, busy: c.busy, rwnd: c.rwnd, minRTT: 100 * time.Microsecond}
		o := Outcome{Seconds: 2, Bytes: 1e6, Calls: c.calls, Connections: 2, Stood: c.stood}
		c.test.Message = 1000
		if got := c.test.limit(o, before, after); got.Verdict != c.verdict || !strings.Contains(got.Says, c.says) || unknown.MatchString(got.Says) {
			t.Errorf("%s: %q: %s", name, got.Verdict, got.Says)
		}
	}
}
