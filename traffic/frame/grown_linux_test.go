package frame

import (
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"windtunnel/traffic"
)

// TestASinkSeesAQueueGrow has frames leave at half of the time's speed, so that each is longer under way than the one
// before, by clocks that differ by so much: also where what a frame tells of its time turns over.
func TestASinkSeesAQueueGrow(t *testing.T) {
	needsRoot(t)
	const elapsed = 100 * time.Millisecond
	for _, c := range []struct {
		apart time.Duration // of the clocks
		slow  float64       // by how much longer a frame is under way than the one before, a second
	}{{0, 0.5}, {300 * time.Millisecond, 0.5}, {500 * time.Millisecond, 0.5}, {-500 * time.Millisecond, 0.5}, {3e11, 0.5}, {0, 0}, {0, -0.5}} {
		h := testHeader(four, 40000, 7, 64, false)
		r := newRig(t, expectedOf(h, 1), false)
		leaving := time.Duration((1 - c.slow) * float64(elapsed))
		if err := r.expect(leaving); err != nil {
			t.Fatal(err)
		}
		inGo := &packetSink{expected: r.expected}
		s, b := newStamp(h)
		began := monotonic()
		for sequence := uint64(0); ; sequence++ {
			now := monotonic()
			if now >= began+elapsed.Nanoseconds() {
				break
			}
			transit := c.apart.Nanoseconds() + 60e6 + int64(c.slow*float64(now-began))
			n := number{window, 0, sequence | left(now-transit)<<leftShift}
			frame := b[:s.write(b, n)]
			inGo.time(r.expected.leftOf(frame))
			if action, err := r.objects.FrameAtXdp.Run(&ebpf.RunOptions{Data: frame}); err != nil || action != 1 {
				t.Fatalf("action %d, %v", action, err)
			}
		}
		grown, err := r.grown()
		if err != nil {
			t.Fatal(err)
		}
		want := max(0, c.slow*elapsed.Seconds())
		for who, got := range map[string]float64{"the program": grown.Seconds(), "Go": time.Duration(inGo.floor.Rise()).Seconds()} {
			if got < 0.85*want || got > want+0.01*elapsed.Seconds() {
				t.Errorf("clocks %s apart: %s says %.4f s, grown by %.4f s", c.apart, who, got, want)
			}
		}
	}
}

// TestPartsOfAWindow: as many as Rise wants, and no more than there is room for.
func TestPartsOfAWindow(t *testing.T) {
	for _, length := range []time.Duration{time.Millisecond, 250 * time.Millisecond, time.Second, 10 * time.Minute} {
		if parts := int(length >> leftUnit >> partShift(length)); parts < traffic.FloorParts/2 || parts >= traffic.FloorParts {
			t.Errorf("a window of %s has %d parts", length, parts)
		}
	}
}
