package oneoff

import (
	"net"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestAStoppedTerminalLosesNoResult: the receiver's last line is heard while somebody holds up the intervals that are shown.
func TestAStoppedTerminalLosesNoResult(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	goOn := make(chan struct{})
	pairs := newPairing(time.Second, func(Paired) { <-goOn })
	theirs := traffic.NewWatcher(pairs.receiver)
	defer theirs.Close()
	defer close(goOn)
	second := result.Interval{From: 0, To: 1}
	pairs.sender(second) // the other end's completes its line
	r := &remote{wire: newWire(here, longestReply), intervals: theirs.Tell, broken: func(error) {}}
	go func() {
		peer := newWire(there, longestAsk)
		for range 3 {
			_ = peer.write(reply{Say: sayInterval, Interval: &second})
		}
		_ = peer.write(reply{Say: sayEnd, End: &result.PairEnd{WindowSeconds: 1}})
	}()
	heard := make(chan struct{})
	go func() { r.listen(); close(heard) }()
	select {
	case <-heard:
		if r.end == nil {
			t.Errorf("no result: %v", r.err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for who shows intervals")
	}
}
