package stream

import (
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestAReceiverOfSmallMessagesDozes where more comes so: it reads less at a time and sleeps, while enough comes for that, else it waits for
// enough. One of large messages reads whatever fits; what it waits for goes by its CPU (TestAReceiverWaitsWhereItsStackWorks).
func TestAReceiverOfSmallMessagesDozes(t *testing.T) {
	for _, c := range []struct {
		message, moved int // bytes; bytes in 1 ms
		gain           float64
		dozes          bool
	}{
		{1390, 400_000, 1.5, true}, {1390, 400_000, 1, false}, {1390, 400_000, 0.9, false}, {1390, 50_000, 1.5, false}, {128 << 10, 400_000, 1.5, false},
	} {
		near, _ := connected(t, 1)
		if err := near[0].SetReadBuffer(1 << 20); err != nil {
			t.Fatal(err)
		}
		e := newTestEngine(t, flowsOf(near, traffic.Receive), Config{Message: c.message})
		thread, err := newThread(e, traffic.Receive, e.of(traffic.Receive))
		if err != nil {
			t.Fatal(err)
		}
		naps := 0
		for range 3 * dozeTries {
			came := float64(c.moved) * 20
			if thread.dozes {
				came *= c.gain
				naps++
			}
			thread.wait(20*time.Millisecond, uint64(came))
		}
		if thread.dozes != c.dozes || (thread.call < thread.least) != c.dozes || thread.small && (thread.water > 1) == c.dozes {
			t.Errorf("%+v: dozes %v, reads %d of %d bytes, waits for %d", c, thread.dozes, thread.call, thread.least, thread.water)
		}
		if tried := c.message == 1390 && c.moved == 400_000; tried && naps < dozeTries || !tried && naps > 0 {
			t.Errorf("%+v: %d bursts of 27 were tried so", c, naps)
		}
		thread.close()
	}
}

// TestADozeIsTriedByWholeBursts, each beside one awake, and their median counts: one in which somebody else had the CPU decides nothing.
func TestADozeIsTriedByWholeBursts(t *testing.T) {
	d := newDozeTrial()
	if d.note(false, time.Millisecond, 1e6); d.Begun() {
		t.Error("a short burst counts")
	}
	tried := 0
	for !d.Over() {
		came := 20e6
		if d.dozes() {
			if tried++; tried > 4 {
				came = 24e6
			} else {
				came = 2e6
			}
		}
		d.note(d.dozes(), 20*time.Millisecond, uint64(came))
	}
	if !d.dozes() || tried != dozeTries {
		t.Errorf("%d bursts, gain %g", tried, d.Gain())
	}
	if d.note(false, 20*time.Millisecond, 90e6); !d.dozes() {
		t.Error("what comes later changes it")
	}
}

// TestADozeThatCannotBe is compared with nothing: what was awake long ago is not beside it.
func TestADozeThatCannotBe(t *testing.T) {
	d := newDozeTrial()
	for range 100 {
		d.note(false, 20*time.Millisecond, 20e6) // whatever it says
	}
	if d.Over() || d.Begun() {
		t.Errorf("%+v", d)
	}
}
