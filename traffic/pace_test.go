package traffic

import (
	"testing"
	"time"
)

// TestABucketTellsWhatItCannotHold, however long nobody asks.
func TestABucketTellsWhatItCannotHold(t *testing.T) {
	b := NewBucket(1000, 10, 0) // of 10 ms
	b.Wait(1, 10e6)
	if b.Spilt() != 0 {
		t.Errorf("%d ns are lost of what the bucket holds", b.Spilt())
	}
	b.Take(1, 500e6)
	b.Wait(1, 500e6)
	if b.Spilt() != 490e6 {
		t.Errorf("%d ns are lost of a pause of 500 ms", b.Spilt())
	}
}

// TestBucketKeepsTheRate takes whenever it may, in virtual time.
func TestBucketKeepsTheRate(t *testing.T) {
	const rate, size = 12.5e6, 1448 // bytes
	b := NewBucket(rate, 4*size, 0)
	now, sent := int64(0), 0
	for now < int64(time.Second) {
		now += b.Wait(size, now)
		b.Take(size, now)
		sent += size
	}
	if d := float64(sent)/rate - 1; d < -0.001 || d > 0.001 {
		t.Errorf("sent %d bytes in a second at %g a second", sent, rate)
	}
}

// TestBucketIsBounded stalls for a second and gets the depth back, not the second.
func TestBucketIsBounded(t *testing.T) {
	const rate, depth = 1e6, 5000
	b := NewBucket(rate, depth, 0)
	now := int64(time.Second)
	sent := 0
	for b.Wait(100, now) == 0 {
		b.Take(100, now)
		sent += 100
	}
	if sent != depth {
		t.Errorf("%d at once after a stall, depth %d", sent, depth)
	}
	if wait := b.Wait(100, now); wait != 100_000 {
		t.Errorf("the next 100 come in %d ns, want 100000", wait)
	}
	if wait := b.Wait(2*depth, now+int64(time.Minute)); wait == 0 {
		t.Error("more than the depth came at once")
	}
}
