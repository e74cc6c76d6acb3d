package frame

import (
	"math"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"windtunnel/traffic"
)

// TestASinkSeesAQueueGrow has frames say that they left at regular times, while they come as fast or as slowly as this machine
// goes: so their times under way grow, or shrink, by as much as the test itself knows. The ends' clocks differ by half a
// second and by more, and what a frame tells of its time turns over.
func TestASinkSeesAQueueGrow(t *testing.T) {
	needsRoot(t)
	const tries = 5
	for _, c := range []growing{{0, 2 * leaving}, {300 * time.Millisecond, 2 * leaving}, {500 * time.Millisecond, 2 * leaving}, {-500 * time.Millisecond, 2 * leaving}, {3e11, 2 * leaving}, {0, 0}} {
		for try := 1; ; try++ {
			want, got, within := c.grow(t)
			if !within && try < tries {
				t.Logf("clocks %s apart: others had the CPU for longer than a frame can tell", c.apart)
				continue
			}
			if c.coming > 0 && want < leaving/2 {
				t.Errorf("clocks %s apart: in truth grown by %s", c.apart, want)
			}
			for who, got := range got {
				if math.Abs(float64(got-want)) > float64(leaving)/20 {
					t.Errorf("clocks %s apart: %s says %s, grown by %s", c.apart, who, got, want)
				}
			}
			break
		}
	}
}

const leaving = 50 * time.Millisecond // until the last frame has left

type growing struct {
	apart  time.Duration // of the clocks
	coming time.Duration // that the frames' coming takes, at least
}

// grow tells by how much times under way grew, what the program and Go say of it, and whether all of them lay within
// half of what a frame's time turns over in: more cannot be told from less.
func (c growing) grow(t *testing.T) (want time.Duration, got map[string]time.Duration, within bool) {
	t.Helper()
	const frames, turnsOver = 500, (leftMask + 1) << leftUnit
	r := newRig(t, expectedOf(testHeader(four, 40000, 7, 64, false), 1), false)
	if err := r.expect(leaving); err != nil {
		t.Fatal(err)
	}
	inGo, truth := &packetSink{expected: r.expected}, traffic.Floor{}
	s, b := newStamp(testHeader(four, 40000, 7, 64, false))
	began, least, most := monotonic(), int64(math.MaxInt64), int64(math.MinInt64)
	for i := range int64(frames) {
		for monotonic() < began+i*int64(c.coming)/frames {
			continue
		}
		now := monotonic()
		departure := began - 60e6 + i*int64(leaving)/frames
		transit := now - departure + int64(c.apart)
		least, most = min(least, transit), max(most, transit)
		frame := b[:s.write(b, number{window, 0, uint64(i) | left(now-transit)<<leftShift})]
		truth.Note(departure, transit)
		inGo.time(r.expected.leftOf(frame))
		if action, err := r.objects.FrameAtXdp.Run(&ebpf.RunOptions{Data: frame}); err != nil || action != 1 {
			t.Fatalf("action %d, %v", action, err)
		}
	}
	grown, err := r.grown()
	if err != nil {
		t.Fatal(err)
	}
	got = map[string]time.Duration{"the program": grown, "Go": time.Duration(inGo.floor.Rise())}
	return time.Duration(truth.Rise()), got, most-least < turnsOver/2
}

// TestPartsOfAWindow: as many as Rise wants, and no more than there is room for.
func TestPartsOfAWindow(t *testing.T) {
	for _, length := range []time.Duration{time.Millisecond, 250 * time.Millisecond, time.Second, 10 * time.Minute} {
		if parts := int(length >> leftUnit >> partShift(length)); parts < traffic.FloorParts/2 || parts >= traffic.FloorParts {
			t.Errorf("a window of %s has %d parts", length, parts)
		}
	}
}
