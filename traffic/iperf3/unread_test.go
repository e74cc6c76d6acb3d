package iperf3

import (
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestWhatCameAndWasNotReadIsTheReceivers: its window was open all the time, and the path had something to carry.
func TestWhatCameAndWasNotReadIsTheReceivers(t *testing.T) {
	spent := traffic.CrewTime{Threads: 1, CPU: time.Second}
	forth := ended{test: Test{Parallel: 1}, send: spent, peerCPU: 1, sent: 20e6, got: 8e6, unacked: 4e6, busy: 2 * time.Second, seconds: 3}
	for name, c := range map[string]struct {
		change        func(*ended)
		verdict, says string
	}{
		"stopped over the end":      {func(*ended) {}, result.ReceiverLimited, "50 % of what the receiver's system had acknowledged was not read"},
		"it is one of ours":         {func(e *ended) { e.own = &ownResult{Receive: threadResult{Threads: 1}} }, result.ReceiverLimited, "was not read"},
		"it was not acknowledged":   {func(e *ended) { e.unacked = 12e6 }, result.PathLimited, "neither end"},
		"for a moment":              {func(e *ended) { e.test.BitsPerSecond, e.got, e.seconds = 64.5e6, 15e6, 2 }, result.PathLimited, "neither end"},
		"little of it":              {func(e *ended) { e.got = 14.5e6 }, result.PathLimited, "neither end"},
		"blocks that are not whole": {func(e *ended) { e.test.Parallel, e.sent, e.got, e.unacked = 2, 8000, 7000, 0 }, result.PathLimited, "neither end"},
		"it ended before this end":  {func(e *ended) { e.seconds = 1 }, result.PathLimited, "neither end"},
		"the rate came":             {func(e *ended) { e.test.BitsPerSecond, e.got = 21e6, 8e6 }, result.RateReached, "of the 21.00 Mbit/s"},
		"of a rate":                 {func(e *ended) { e.test.BitsPerSecond = 80e6 }, result.ReceiverLimited, "was not read"},
		"of a rate, little":         {func(e *ended) { e.test.BitsPerSecond, e.sent, e.got = 80e6, 16e6, 10e6 }, result.PathLimited, "neither end"},
		"both ways":                 {func(e *ended) { e.test.Bidirectional, e.receive, e.peerCPU = true, spent, 1 }, result.ReceiverLimited, "forth: 50 % of what the receiver's"},
		"what comes back":           {func(e *ended) { e.test.Reverse, e.receive, e.send = true, spent, traffic.CrewTime{} }, result.PathLimited, "neither end"},
	} {
		e := forth
		c.change(&e)
		if got := e.limit(); got.Verdict != c.verdict || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %q: %s", name, got.Verdict, got.Says)
		}
	}
}

// TestAServerThatHadNothingLeftToSendShowsNoPathsRate: its client may look at its end once a second.
func TestAServerThatHadNothingLeftToSendShowsNoPathsRate(t *testing.T) {
	sent := ended{test: Test{Parallel: 1, Reverse: true, Bytes: 1e6}, send: traffic.CrewTime{Threads: 1, CPU: time.Millisecond}, peerCPU: 1, sent: 1e6, got: 1e6, busy: 20 * time.Millisecond, serves: true}
	for name, c := range map[string]struct {
		change        func(*ended)
		verdict, says string
	}{
		"soon":                 {func(*ended) {}, "", "something to carry for 0.02 s, and the client ended the test after 2 s"},
		"not before the end":   {func(e *ended) { e.busy = 1900 * time.Millisecond }, result.PathLimited, "neither end"},
		"nobody tells":         {func(e *ended) { e.busy = 0 }, result.PathLimited, "neither end"},
		"no amount was asked":  {func(e *ended) { e.test.Bytes = 0 }, result.PathLimited, "neither end"},
		"it was not all":       {func(e *ended) { e.sent, e.got = 9e5, 9e5 }, result.PathLimited, "neither end"},
		"a client sends by it": {func(e *ended) { e.test.Reverse = false }, result.PathLimited, "neither end"},
	} {
		e := sent
		c.change(&e)
		if got := e.limit(); got.Verdict != c.verdict || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %q: %s", name, got.Verdict, got.Says)
		}
	}
}
