package stream

import (
	"io"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestAStarvedStreamIsNoStalledPeer: of two streams with a thread each one stands still, as one of many does on a full path. A
// peer has stalled where nothing moves on any.
func TestAStarvedStreamIsNoStalledPeer(t *testing.T) {
	t.Parallel()
	for _, role := range []traffic.Role{traffic.Send, traffic.Receive} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			near, far := connected(t, 2)
			e := newTestEngine(t, flowsOf(near, role), Config{Threads: 2, Silence: 5 * patience})
			e.Start()
			often := time.NewTicker(10 * time.Millisecond)
			defer often.Stop()
			piece := make([]byte, 1<<20)
			for range 150 {
				<-often.C
				var err error
				if role == traffic.Send {
					_, err = io.ReadFull(far[0], piece)
				} else {
					_, err = far[0].Write(piece)
				}
				if err != nil {
					t.Fatal(err, e.Err())
				}
			}
			if err := e.Err(); err != nil {
				t.Fatalf("while one stream moved: %v", err)
			}
			awaitDone(t, e)
			if err := e.Err(); err == nil || !strings.Contains(err.Error(), "stalled") {
				t.Errorf("when none did any more: %v", err)
			}
		})
	}
}

// TestWhoIsSilent: a thread that has ended tells nothing of the peer.
func TestWhoIsSilent(t *testing.T) {
	for _, c := range []struct {
		calls []uint64
		want  uint64
	}{{nil, 0}, {[]uint64{7, 3}, 3}, {[]uint64{7, noMore}, 7}, {[]uint64{noMore, noMore}, 0}} {
		threads := &crew{}
		for _, n := range c.calls {
			one := &thread{}
			one.silent.Store(n)
			threads.threads = append(threads.threads, one)
		}
		if got := threads.silent(); got != c.want {
			t.Errorf("%d of %d", got, c.calls)
		}
		if threads.stir(); threads.silent() != 0 {
			t.Errorf("%d of %d when one has ended", threads.silent(), c.calls)
		}
	}
}

// TestWhatAFullPathStarvesHasEnded: of two streams one comes to its end and the other one's is late, as nothing of it comes at all. If
// neither does, the sender has gone.
func TestWhatAFullPathStarvesHasEnded(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		near, far := connected(t, 2)
		e := newTestEngine(t, flowsOf(near, traffic.Receive), Config{})
		e.Start()
		if ends {
			far[0].Close()
		}
		w := &worker{closing: make(chan struct{})}
		if err := w.readToEnd(t.Context(), e, time.Now().Add(300*time.Millisecond)); (err == nil) != ends {
			t.Errorf("one has ended: %v, %v", ends, err)
		}
	}
}
