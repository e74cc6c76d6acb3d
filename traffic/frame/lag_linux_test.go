package frame

import (
	"testing"

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
