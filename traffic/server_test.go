package traffic

import (
	"testing"
	"time"
)

// TestByteWatch: the smaller the bound, the more often it is looked at.
func TestByteWatch(t *testing.T) {
	const most = 250 * time.Millisecond
	for bytes, want := range map[uint64]time.Duration{
		0: most, 1: byteLook, 20e6: byteLook, 1_250e6: byteLook, 12_500e6: 100 * time.Millisecond, 1e12: most, 1 << 63: most,
	} {
		if got := ByteWatch(bytes, most); got != want {
			t.Errorf("%d bytes: every %s instead of %s", bytes, got, want)
		}
	}
}
