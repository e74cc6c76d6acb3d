package frame

import (
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"windtunnel/result"
)

// TestLagIsCounted: the program puts a frame into the bucket of its lateness.
func TestLagIsCounted(t *testing.T) {
	needsRoot(t)
	l, err := newLive(testHeader(four, 1, 1, 64, false), 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	up := monotonic() / 1e9 // no frame is later than the clock is old
	for _, seconds := range []int64{1, 10, min(60, up), min(3000, up)} {
		clear(l.record.Lag[:])
		l.setPhase(window)
		l.rate(1e-9, 1) // the next frame is not due for decades
		l.release()
		l.record.Epoch, l.record.Due = uint64(monotonic()-seconds*1e9), 0
		runOnce(t, l)
		all := result.NewRecorder()
		l.late(all)
		h := all.Histogram()
		want := float64(seconds)
		if h.Count != 1 || h.P50 < want*0.85 || h.P50 > want*1.2 {
			t.Errorf("a frame %d s late: %d frames, %.1f s late", seconds, h.Count, h.P50)
		}
	}
}

// TestBucketsRise: each bucket begins where the one before it ended.
func TestBucketsRise(t *testing.T) {
	for bucket := 1; bucket < 212; bucket++ {
		if low, high := lagOf(bucket-1), lagOf(bucket); high <= low || bucket > 8 && float64(high) > 1.3*float64(low) {
			t.Errorf("bucket %d stands for %d ns, the one before for %d", bucket, high, low)
		}
	}
}

// TestLagIsOfFramesThatLeft: those that the device refused were counted among them, so that of a sender before a slow device most of what
// its lag told of had never left.
func TestLagIsOfFramesThatLeft(t *testing.T) {
	const ms = int64(time.Millisecond)
	p := &packetSocket{}
	p.rate(1000, 16)
	frames, _ := p.bucket.ready(0)
	p.pass(frames, 0, 0, window)
	p.bucket.ready(100 * ms)
	p.pass(3, 1, 100*ms, window) // the refused one is the last
	p.pass(0, 1, 110*ms, window)
	if h := p.lag.Histogram(); h.Count != 4 || h.Max < 0.098 || h.Max > 0.1 {
		t.Errorf("four frames left, two were refused: %d of them, at most %g s late", h.Count, h.Max)
	}
}

// TestLiveLagIsOfFramesThatLeft, whatever it is for which the device refuses the others: its ring is full, it is down, its other end takes
// none, or it is gone.
func TestLiveLagIsOfFramesThatLeft(t *testing.T) {
	liveInside(t, func(l *live, link netlink.Link, shut func() error) {
		l.rate(1e9, 1000) // so that all are due at once
		for i, change := range []func() error{
			func() error { return nil },
			func() error { return netlink.LinkSetDown(link) },
			func() error { return netlink.LinkSetUp(link) },
			shut,
			func() error { return netlink.LinkDel(link) },
		} {
			if err := change(); err != nil {
				t.Error(err)
			}
			_, before := l.counts(window)
			l.record.Due = 0 // after the next release
			sendLive(t, l, 20_000)
			sent, refused := l.counts(window)
			if took := i == 0 || i == 2; !took && refused < before+20_000 {
				t.Errorf("in step %d %d frames were refused", i, refused-before)
			}
			sum := uint64(0)
			for bucket, frames := range l.record.Lag {
				if sum += frames; frames > sent+refused {
					t.Errorf("%d frames in bucket %d", int64(frames), bucket)
				}
			}
			if sent == 0 || sum != sent {
				t.Errorf("%d frames left, %d were refused, and of %d it is told how late they were", sent, refused, sum)
			}
		}
	})
}
