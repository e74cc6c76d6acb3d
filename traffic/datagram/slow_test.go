package datagram

import (
	"math"
	"testing"
	"time"

	"windtunnel/result"
)

// TestFewDatagrams keeps a slow load's window what was asked for, and misses none. A thread that had no CPU when two were due sends
// fewer: it is tried again.
func TestFewDatagrams(t *testing.T) {
	var s outcome
	for try := 1; try <= 4 && s.end.Packets < 6; try++ {
		send, receive := pair(t, result.Options{"packets": 7.0})
		when := soon()
		when.Window = time.Second
		var r outcome
		s, r = runBoth(t.Context(), send, receive, when)
		if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
			t.Fatal(s.err, r.err, s.end.Error, r.end.Error)
		}
		conserved(t, s.end, r.end, send.ledger, receive.ledger)
	}
	if s.end.Packets < 6 || s.end.Packets > 8 {
		t.Errorf("%d datagrams in a second of seven", s.end.Packets)
	}
	if wrong := math.Abs(s.end.WindowSeconds - 1); wrong > 0.2 {
		t.Errorf("the window took %g s", s.end.WindowSeconds)
	}
	if s.end.Offered.BurstPackets != 2 || s.end.Offered.TargetPacketsPerSecond != 7 {
		t.Errorf("offered %+v", s.end.Offered)
	}
}
