package frame

import (
	"net/netip"
	"testing"
	"time"
)

// TestWhatAPacketSenderSleepsThroughIsMissed, and not what it is late by while it sends: that the path may have kept it for.
func TestWhatAPacketSenderSleepsThroughIsMissed(t *testing.T) {
	const ms = int64(time.Millisecond)
	p := &packetSocket{}
	p.rate(1000, 11)
	ask := func(at int64, want time.Duration) {
		t.Helper()
		frames, _ := p.ready(at)
		p.pass(frames, 0, at, warmUp)
		if got := p.missed(); got != want {
			t.Errorf("at %d ms, with %d frames due, %s of the rate were missed, want %s", at/ms, frames, got, want)
		}
	}
	ask(0, 0)
	ask(500*ms, 0) // from a call of 500 ms
	if frames, _ := p.ready(500 * ms); frames != 0 {
		t.Fatalf("%d frames are due", frames)
	}
	ask(505*ms, 0)
	if frames, _ := p.ready(505 * ms); frames != 0 {
		t.Fatalf("%d frames are due", frames)
	}
	ask(816*ms, 300*time.Millisecond) // the next was due at 506 ms, and 10 ms are caught up with
}

// TestWhatALiveSenderIsNotThereForIsMissed: the kernel's loop ends with a signal, also with the one that stops the process.
func TestWhatALiveSenderIsNotThereForIsMissed(t *testing.T) {
	needsRoot(t)
	l, err := newLive(testHeader(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 40000, 7, 64, false), 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.rate(1000, 11)
	began := time.Now()
	l.release()
	l.record.Epoch -= uint64(time.Second)
	if err := l.call(1); err != nil {
		t.Fatal(err)
	}
	least := time.Second - 10*time.Millisecond
	if got := l.missed(); got < least || got > least+time.Since(began) {
		t.Errorf("of a second, of which 10 ms are caught up with, %s were missed", got)
	}
}

// TestARateIsKeptOnAHostThatIsUpForLong: after a hundred days a nanosecond of its clock is the last digit of a float64, by which the time of
// each next frame was rounded: 3 million a second were 2.994.
func TestARateIsKeptOnAHostThatIsUpForLong(t *testing.T) {
	const uptime, rate = int64(150 * 24 * time.Hour), 3e6
	p := &packetSocket{}
	p.rate(rate, 64)
	p.begins(uptime)
	frames := 0
	for now := uptime; now < uptime+int64(time.Second); now += 10_000 {
		n, _ := p.ready(now)
		p.pass(n, 0, now, warmUp)
		frames += n
	}
	if frames < rate*0.9995 || frames > rate*1.0005 {
		t.Errorf("%d frames in a second, want %g", frames, float64(rate))
	}
}
