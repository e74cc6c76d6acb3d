package frame

import (
	"errors"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/traffic"
	"windtunnel/traffic/nstest"
)

// TestFramesForADeviceThatIsDownAreRefused, and for one that is gone: none is sent.
func TestFramesForADeviceThatIsDownAreRefused(t *testing.T) {
	needsRoot(t)
	for name, take := range map[string]func(netlink.Link) error{"down": netlink.LinkSetDown, "gone": netlink.LinkDel} {
		t.Run(name, func(t *testing.T) {
			nstest.Inside(t, func() {
				if _, err := linkLocal("near"); err != nil {
					t.Error(err)
					return
				}
				out, err := netlink.LinkByName("near")
				if err != nil {
					t.Error(err)
					return
				}
				l, err := newLive(testHeader(four, 1, 1, 64, false), out.Attrs().Index, 0, 1)
				if err != nil {
					t.Error(err)
					return
				}
				defer l.close()
				if l.refusals == nil {
					t.Log("this kernel does not tell what is refused")
					return
				}
				if err := take(out); err != nil {
					t.Error(err)
					return
				}
				l.release()
				const frames = 1000
				if err := l.call(frames); err != nil {
					t.Error(err)
				}
				if sent, refused := l.counts(warmUp); sent != 0 || refused != frames || l.refusal() == nil {
					t.Errorf("%d sent and %d refused, by %v; want none and %d", sent, refused, l.refusal(), frames)
				}
			})
		})
	}
}

// TestAPacketSinkOutlivesItsLinksFall: what comes when the device is up again is counted.
func TestAPacketSinkOutlivesItsLinksFall(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			t.Error(err)
			return
		}
		h := testHeader(four, 40000, 7, 64, false)
		out := device{index: 1, name: "lo", loopback: true}
		s, err := newPacketSink(expectedOf(h, 1), out, -1)
		if err != nil {
			t.Error(err)
			return
		}
		defer s.close()
		p, err := newPacketSocket(h, out, 0, 1)
		if err != nil {
			t.Error(err)
			return
		}
		defer p.close()
		came := func(want uint64) {
			for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
				p.phase.Store(window)
				if errno := p.send(1, monotonic()); errno != 0 && errno != unix.ENETDOWN {
					t.Error(errno)
				}
				all, err := s.tally()
				if err != nil {
					t.Error(err)
					return
				}
				if all.all().packets >= want {
					return
				}
				if time.Now().After(deadline) {
					t.Errorf("%d frames came, want %d", all.all().packets, want)
					return
				}
			}
		}
		came(10)
		if err := errors.Join(netlink.LinkSetDown(lo), netlink.LinkSetUp(lo)); err != nil {
			t.Error(err)
		}
		all, _ := s.tally()
		came(all.all().packets + 10)
	})
}

// TestAStopWakesASlowPacketSender, whose next frame is due in hours.
func TestAStopWakesASlowPacketSender(t *testing.T) {
	needsRoot(t)
	p, err := newPacketSocket(testHeader(four, 40000, 7, 64, false), device{index: 1, name: "lo", loopback: true}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.rate(1e-5, 1)
	p.release()
	p.bucket.due += 1e13
	over := make(chan error, 1)
	go func() { over <- p.work() }()
	for p.thread.Thread() == 0 {
		time.Sleep(time.Millisecond)
	}
	p.interrupt()
	select {
	case err := <-over:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still sleeps")
	}
}

// TestLagIsWhole: what a sender does not make good any more was late all the same.
func TestLagIsWhole(t *testing.T) {
	const ms = int64(time.Millisecond)
	p := &packetSocket{}
	p.rate(1000, 16)
	now := int64(0)
	for range 10 { // as they are due
		frames, _ := p.bucket.ready(now)
		p.pass(frames, 0, now, window)
		now += ms
	}
	now += 2000 * ms
	frames, _ := p.bucket.ready(now)
	p.pass(frames, 0, now, window)
	if h := p.lag.Histogram(); frames != 16 || h.Count != 10+16 || h.Max < 1.99 || h.Max > 2.03 {
		t.Errorf("held up for 2 s it sent %d frames, the latest of %d after %g s", frames, h.Count, h.Max)
	}
	if h := p.lag.Histogram(); h.P90 > 0.016 {
		t.Errorf("others were %g s late, want at most the burst's", h.P90)
	}
}

// TestIntervalsOfRefusedFrames: frames that were under way when an interval ended, and were refused after it, make none of the
// next one; and what is told after each takes nothing off it.
func TestIntervalsOfRefusedFrames(t *testing.T) {
	reads := []uint64{100, 200, 190, 195, 300}
	want := []uint64{100, 0, 0, 100}
	c := &course{when: traffic.Schedule{Start: time.Now(), Window: time.Second, Interval: time.Second}, size: 64}
	c.read = func() (uint64, uint64) {
		n := reads[0]
		reads = reads[1:]
		return n, 0
	}
	const slow = 20 * time.Millisecond
	c.tell = func() { time.Sleep(slow) }
	var told []time.Time
	for range len(want) + 1 {
		c.turn()
		told = append(told, time.Now())
	}
	for i, n := range want {
		if got := c.intervals[i]; got.Packets != n || got.Bytes != 64*n {
			t.Errorf("interval %d is %+v, want %d frames", i, got, n)
		}
		if begin := c.when.Start.Add(time.Duration(c.intervals[i].From * 1e9)); told[i].Sub(begin) < slow-time.Millisecond {
			t.Errorf("interval %d began at %v, and what is told before it was told at %v", i, begin, told[i])
		}
	}
}

// failedSink is a sink that has failed after it counted something.
type failedSink struct {
	counting
	err error
}

func (f *failedSink) tally() (tally, error) {
	t, _ := f.counting.tally()
	return t, f.err
}

// TestAFailedSinkLosesNothingThatItCounted in the interval in which it failed.
func TestAFailedSinkLosesNothingThatItCounted(t *testing.T) {
	sink := &failedSink{}
	sink.all.packets = 100
	read := (&receiveWorker{sink: sink, listener: &listener{}}).sofar()
	for _, err := range []error{nil, errClosed} {
		sink.err = err
		if packets, lost := read(); packets != 100 || lost != 0 {
			t.Errorf("%v: %d frames, %d lost", err, packets, lost)
		}
	}
}
