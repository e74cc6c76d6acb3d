package iperf3

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestLimitByWhatAnEndOfOursTells: no verdict hangs on what iperf3's does not, and the CPU time of a server's other clients is in none.
func TestLimitByWhatAnEndOfOursTells(t *testing.T) {
	spent := traffic.CrewTime{Threads: 1, CPU: time.Second}
	receives := func(r threadResult) *ownResult { return &ownResult{Receive: r} }
	lost := ended{test: Test{Protocol: UDP, Parallel: 1}, send: spent, peerCPU: 60, sent: 1e6, got: 9e5, lost: 100}
	const much = 1e9
	for name, c := range map[string]struct {
		ended
		own           *ownResult
		verdict, says string
	}{
		"others' CPU time":          {ended{test: Test{Parallel: 1}, send: spent, peerCPU: 98, sent: much, got: much}, receives(threadResult{Threads: 1, CPU: 0.04}), result.PathLimited, "the receiver's 2 %"},
		"how many threads":          {ended{test: Test{Parallel: 4}, send: spent, peerCPU: 120, sent: much, got: much}, receives(threadResult{Threads: 2, CPU: 2.4}), result.PathLimited, "the receiver's 60 %"},
		"one of them has no more":   {ended{test: Test{Parallel: 4}, send: spent, peerCPU: 120, sent: much, got: much}, receives(threadResult{Threads: 2, CPU: 2.4, Busiest: 1.95}), result.ReceiverLimited, "the busiest of them 98 %"},
		"no room in its socket":     {lost, &ownResult{Drops: 100}, result.ReceiverLimited, "buffer overflowed and lost 10 %"},
		"more than was lost":        {lost, &ownResult{Drops: 1e9}, result.ReceiverLimited, "buffer overflowed and lost 10 %"},
		"lost before it came there": {lost, &ownResult{}, result.PathLimited, "10 % of the packets were lost on the way"},
		"it had no CPU":             {ended{test: Test{Parallel: 1, BitsPerSecond: 1e6, Reverse: true}, receive: spent, peerCPU: 1, sent: 225e3, got: 225e3}, &ownResult{Send: threadResult{Threads: 1, CPU: 0.001, Wait: 0.3}}, result.GeneratorLimited, "had no CPU for 15 %"},
		"its window was closed":     {ended{test: Test{Parallel: 1, Reverse: true}, receive: spent, peerCPU: 60, sent: much, got: much}, &ownResult{Connections: []connectionResult{{Busy: 2, Rwnd: 1.5}}}, result.ReceiverLimited, "closed for 75 %"},
		"it woke too late":          {ended{test: Test{Parallel: 1, BitsPerSecond: 1e6, Reverse: true}, receive: spent, peerCPU: 1, sent: 225e3, got: 225e3}, &ownResult{Missed: 0.2}, result.GeneratorLimited, "woke later than its burst"},
	} {
		c.ended.own = c.own
		if got := c.limit(); got.Verdict != c.verdict || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %q: %s", name, got.Verdict, got.Says)
		}
	}
}

// TestWhatAnEndOfOursTellsIsRead, and refused where it cannot be.
func TestWhatAnEndOfOursTellsIsRead(t *testing.T) {
	told := ownResult{Stood: 1.5, Missed: 0.25, Held: 2, Send: threadResult{2, 3, 1.75, 0.5}, Receive: threadResult{1, 0.5, 0.5, 0}, Drops: 7, Connections: []connectionResult{{2, 1, 0.5, 1e-4}}}
	body, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := readOwn(body); err != nil || !reflect.DeepEqual(*read, told) {
		t.Errorf("%s is read as %+v, %v", body, read, err)
	}
	if read, err := readOwn(nil); read != nil || err != nil {
		t.Errorf("iperf3 tells %+v, %v", read, err)
	}
	for _, lie := range []string{`1`, `{"stood_seconds":-1}`, `{"held_seconds":1e300}`, `{"socket_drops":-1}`, `{"send":[]}`, `{"receive":{"threads":1e9}}`, `{"send":{"cpu_seconds":"1"}}`, `{"connections":{}}`, `{"connections":[1]}`, `{"connections":[{"busy_seconds":-1}]}`} {
		if read, err := readOwn(json.RawMessage(lie)); err == nil {
			t.Errorf("%s is read as %+v", lie, read)
		}
	}
}
