package ping

import (
	"testing"

	"windtunnel/result"
)

// TestACalibrationThatSharesItsCPUs counts what requests reach while both ends have one: of 150 ms others had a CPU for a part.
func TestACalibrationThatSharesItsCPUs(t *testing.T) {
	sample := func(k int, within uint64) result.Interval {
		return result.Interval{From: float64(k) * 0.03, To: float64(k+1) * 0.03, Packets: within, Within: &within}
	}
	few := []result.Interval{{From: -0.03, To: 0, Packets: 9000}, sample(0, 300), sample(1, 100), sample(2, 290), sample(3, 0), sample(4, 250)}
	for name, c := range map[string]struct {
		cpu, wait float64
		threads   int
		samples   []result.Interval
		want      float64
	}{
		"one at a time, which wakes up anew": {0.06, 0.05, 1, few, 300 / 0.03},
		"always busy, with a third of a CPU": {0.05, 0.1, 1, few, 1500 / 0.05},
		"two threads, one of which is idle":  {0.05, 0.1, 2, few, 300 / 0.03},
		"nothing is known of its parts":      {0.05, 0.05, 1, nil, 1500 / 0.15},
	} {
		end := result.PairEnd{
			WindowSeconds: 0.15, Packets: 1500, Threads: c.threads, CPUSeconds: c.cpu,
			Offered: &result.Offered{WaitSeconds: c.wait}, Intervals: c.samples,
		}
		if got, err := ownRate(end); err != nil || got < c.want*0.999 || got > c.want*1.001 {
			t.Errorf("%s: %g a second, want %g, %v", name, got, c.want, err)
		}
	}
}
