package stream

import (
	"math"
	"testing"
)

// TestWhatMayWaitFitsTheOption: from 344 Gbit/s on a stream's was below 0, and from 688 on some bytes.
func TestWhatMayWaitFitsTheOption(t *testing.T) {
	for rate, want := range map[float64]int{1e9: 6_250_000, 1e6: 256 << 10, 400e9: math.MaxInt32, 700e9: math.MaxInt32, 1e18: math.MaxInt32} {
		if got := ahead(rate, 128<<10); got != want {
			t.Errorf("%g bit/s: %d, not %d", rate, got, want)
		}
	}
}
