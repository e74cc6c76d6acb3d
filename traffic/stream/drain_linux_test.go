package stream

import (
	"io"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestASlowPathIsNoStall: a peer takes little at a time of what a large send buffer holds, which has no room meanwhile for
// longer than any peer may be silent. Once the peer takes nothing, it has stalled.
func TestASlowPathIsNoStall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"one stream": {}, "several": {Message: 1000}, "by a bucket": {BitsPerSecond: 1e9, Pacing: PaceBucket},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 1
			if c.Message > 0 {
				n = 2
			}
			near, far := connected(t, n)
			for i := range n {
				if err := near[i].SetWriteBuffer(4 << 20); err != nil {
					t.Fatal(err)
				}
				if err := far[i].SetReadBuffer(64 << 10); err != nil {
					t.Fatal(err)
				}
			}
			c.Silence = 5 * patience
			e := newTestEngine(t, flowsOf(near, traffic.Send), c)
			e.Start()
			often := time.NewTicker(20 * time.Millisecond)
			defer often.Stop()
			piece := make([]byte, 16<<10)
			for range 100 { // 2 s
				<-often.C
				for i := range n {
					if _, err := io.ReadFull(far[i], piece); err != nil {
						t.Fatal(err, e.Err())
					}
				}
			}
			if err := e.Err(); err != nil {
				t.Fatalf("while the peer took what came: %v", err)
			}
			awaitDone(t, e)
			if err := e.Err(); err == nil || !strings.Contains(err.Error(), "stalled") {
				t.Errorf("after it took nothing any more: %v", err)
			}
		})
	}
}

// TestAFullBufferIsNoStall: of a window in which the buffer had no room, and the peer took what it held, that is told.
func TestAFullBufferIsNoStall(t *testing.T) {
	reading := func(role traffic.Role, bytes, acked uint64) Snapshot {
		return Snapshot{Flows: []FlowCounts{{Role: role, Bytes: bytes, TCP: &TCPInfo{BytesAcked: acked}}}}
	}
	for says, after := range map[string]Snapshot{
		"send buffer":     reading(traffic.Send, 1000, 900),
		"nothing moved":   reading(traffic.Send, 1000, 100),
		"nothing moved ":  reading(traffic.Receive, 1000, 900),
		"nothing moved  ": {Flows: []FlowCounts{{Role: traffic.Send, Bytes: 1000}}},
	} {
		err := stalled(&Engine{}, result.PairEnd{}, reading(after.Flows[0].Role, 1000, 100), after)
		if says = strings.TrimSpace(says); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want a word of %q", err, says)
		}
	}
}

// TestAWindowInWhichNothingWasDue is too short for its rate, at either end, and no peer has stalled.
func TestAWindowInWhichNothingWasDue(t *testing.T) {
	for says, c := range map[string]Config{
		"nothing was due in the window": {BitsPerSecond: 64e3, Burst: segment},
		"nothing moved":                 {BitsPerSecond: 10e6, Burst: segment},
		"nothing moved in":              {},
	} {
		e := &Engine{config: c.filled()}
		err := stalled(e, result.PairEnd{WindowSeconds: 0.1}, Snapshot{}, Snapshot{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want a word of %q", c, err, says)
		}
	}
}
