package frame

import (
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/nstest"
)

// TestOverLoopback sends to this host itself: the device takes no live frames, so
// both ends show their other ways. Namespaces are tests/e2e's.
func TestOverLoopback(t *testing.T) {
	needsRoot(t)
	load := result.Options{"packets": 5000.0, "flows": 9}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: load, Address: "127.0.0.1"})
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address()})
	var observed []result.Interval
	when := traffic.Schedule{
		Start: time.Now().Add(50 * time.Millisecond), WarmUp: 100 * time.Millisecond, Window: 300 * time.Millisecond,
		Interval: 50 * time.Millisecond,
	}
	var got, sent result.PairEnd
	var both sync.WaitGroup
	both.Go(func() { got = runWorker(t, receive, when) })
	watched := when
	watched.Observe = func(i result.Interval) { observed = append(observed, i) }
	both.Go(func() { sent = runWorker(t, send, watched) })
	both.Wait()
	if got.Error+sent.Error != "" || got.Packets != sent.Packets || got.Packets == 0 || got.Arrived.Lost != 0 {
		t.Errorf("sent %+v, got %+v", sent, got)
	}
	if sent.Offered.Method != "af-packet" || !strings.Contains(sent.Offered.Why, "loopback") || sent.Offered.Lag == nil {
		t.Errorf("offered %+v", *sent.Offered)
	}
	if got.Arrived.Method != "tc" || !strings.Contains(got.Arrived.Why, "took no XDP program") {
		t.Errorf("arrived %+v", *got.Arrived)
	}
	if p := got.Arrived.PerFlow; p == nil || p.Flows != 9 || p.Came != 9 || p.Most-p.Fewest > 1 || p.Most != (got.Packets+8)/9 { // the flows are sent in turn
		t.Errorf("of %d frames by flows %+v", got.Packets, p)
	}
	if len(observed) != 8 || len(got.Intervals) != 8 {
		t.Errorf("observed %+v, kept %+v", observed, got.Intervals)
	}
	for i, one := range observed {
		if one != sent.Intervals[i] || one.To <= one.From || i > 0 && one.From != observed[i-1].To {
			t.Errorf("interval %d is %+v, observed as %+v", i, sent.Intervals[i], one)
		}
	}
}

// TestTheLastIntervalIsShorter: what is left of the window is one, too.
func TestTheLastIntervalIsShorter(t *testing.T) {
	needsRoot(t)
	load := result.Options{"packets": 5000.0}
	when := traffic.Schedule{Window: 250 * time.Millisecond, Interval: 100 * time.Millisecond}
	var got, sent result.PairEnd
	for range 6 { // others may have the CPU for longer than an interval
		receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: load, Address: "127.0.0.1"})
		send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address()})
		when.Start = time.Now().Add(50 * time.Millisecond)
		var both sync.WaitGroup
		both.Go(func() { got = runWorker(t, receive, when) })
		both.Go(func() { sent = runWorker(t, send, when) })
		both.Wait()
		if sent.Offered.WaitSeconds < 0.02 && onTime(sent, when) && onTime(got, when) {
			break
		}
	}
	for _, end := range []result.PairEnd{sent, got} {
		if n := len(end.Intervals); n != 3 || end.Intervals[2].To < when.Window.Seconds() || end.Intervals[2].Packets == 0 {
			t.Errorf("intervals %+v of %d frames", end.Intervals, end.Packets)
		}
	}
}

// onTime tells whether who cuts an end's intervals had a CPU when the window was over.
func onTime(end result.PairEnd, when traffic.Schedule) bool {
	n := len(end.Intervals)
	return n > 0 && end.Intervals[n-1].To < when.Window.Seconds()+0.02 && end.Intervals[0].From < 0.02
}

func prepare(t *testing.T, order traffic.Order) traffic.Worker {
	t.Helper()
	w, err := Kind{}.Prepare(t.Context(), order)
	if err != nil {
		t.Fatalf("preparing to %s: %v", order.Role, err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func runWorker(t *testing.T, w traffic.Worker, when traffic.Schedule) result.PairEnd {
	end, err := w.Run(t.Context(), when)
	if err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	return end
}

// TestClsactCounts: the older way to tc, as on kernels before 6.6.
func TestClsactCounts(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		s := &bpfSink{how: byTC}
		if err := s.load(expected{session: 1, flows: 1, sizes: mix{64}}, true, whole); err != nil {
			t.Error(err)
			return
		}
		defer s.close()
		h, err := attachClsact(device{index: 1, name: "lo"}, s.objects.FrameAtTc)
		if err != nil {
			t.Error(err)
			return
		}
		if err := h.Close(); err != nil {
			t.Error("detaching:", err)
		}
		if err := h.Close(); err != nil {
			t.Error("detaching what has gone:", err)
		}
	})
}

func TestRefusals(t *testing.T) {
	needsRoot(t)
	cases := map[string]struct {
		order traffic.Order
		says  string
	}{
		"no interface":     {traffic.Order{Role: traffic.Receive, Address: "192.0.2.1"}, "no interface here has the address"},
		"a name":           {traffic.Order{Role: traffic.Receive, Address: "host"}, "is not the IP"},
		"a large frame":    {traffic.Order{Role: traffic.Receive, Address: "127.0.0.1", Load: result.Options{"size": 65535}}, ""},
		"IPv6 too small":   {traffic.Order{Role: traffic.Receive, Address: "::1"}, "at least 84"},
		"nobody":           {traffic.Order{Role: traffic.Send, Address: "127.0.0.1:1"}, "connecting"},
		"no port":          {traffic.Order{Role: traffic.Send, Address: "127.0.0.1"}, "IP:port"},
		"another role":     {traffic.Order{Role: "watch"}, "no role"},
		"native only":      {traffic.Order{Role: traffic.Receive, Address: "127.0.0.1", Load: result.Options{"sink": "xdp"}}, ""},
		"a foreign method": {traffic.Order{Role: traffic.Send, Address: "127.0.0.1:1", Load: result.Options{"method": "x"}}, "unknown word `x`"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, err := Kind{}.Prepare(t.Context(), c.order)
			if w != nil {
				w.Close()
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestWithoutPrivilege: an ordinary user is told what it takes.
func TestWithoutPrivilege(t *testing.T) {
	err := asNobody(t, func() error {
		w, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
		if err == nil {
			w.Close()
		}
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("got %v", err)
	}
}

func TestCalibration(t *testing.T) {
	needsRoot(t)
	var perSecond float64
	var err error
	for range 5 { // a thread that another program keeps from its CPU makes no frame, and says so
		if perSecond, err = (Kind{}).Calibrate(t.Context(), result.Options{"flows": 64}, []int{0}); err == nil || !strings.Contains(err.Error(), "no frame was made") {
			break
		}
		t.Log(err)
	}
	if err != nil || perSecond < 1e4 {
		t.Errorf("%g frames/s, %v", perSecond, err)
	}
	if _, err := (Kind{}).Calibrate(t.Context(), result.Options{"method": "af-packet"}, nil); err == nil {
		t.Error("an AF_PACKET socket has no null sink")
	}
}

// TestPacingIsBounded: whatever holds a sender up, no 10 ms have more frames than
// the rate's and the burst, and who is never held up keeps the rate.
func TestPacingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := float64(rapid.IntRange(100, 10_000_000).Draw(t, "rate"))
		burst := rapid.IntRange(1, 256).Draw(t, "burst")
		p := pacing{interval: 1e9 / rate, depth: 1e9 / rate * float64(burst-1)}
		type sending struct {
			at     int64
			frames int
		}
		var all []sending
		for now := int64(0); len(all) < 200; {
			frames, wait := p.ready(now)
			if frames == 0 {
				now += wait + 1
				continue
			}
			p.due += p.interval * float64(frames)
			all = append(all, sending{now, frames})
			now += int64(rapid.IntRange(0, 20_000_000).Draw(t, "held up")) >> rapid.IntRange(0, 25).Draw(t, "less")
		}
		const span = 10_000_000
		for i, first := range all {
			sum := 0
			for _, s := range all[i:] {
				if s.at >= first.at+span {
					break
				}
				sum += s.frames
			}
			if float64(sum) > rate*span/1e9+float64(burst)+1 {
				t.Fatalf("%d frames in 10 ms at %g/s with bursts of %d", sum, rate, burst)
			}
		}
	})
}

// TestThreadsTakeTurns: at a rate each has its share, at other times than the others. All at once, 50 frames came every half a second.
func TestThreadsTakeTurns(t *testing.T) {
	needsRoot(t)
	load := result.Options{"packets": 100.0, "flows": 50, "threads": 50}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: load, Address: "127.0.0.1"})
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address()})
	when := traffic.Schedule{Start: time.Now().Add(100 * time.Millisecond), WarmUp: 200 * time.Millisecond, Window: time.Second, Interval: 100 * time.Millisecond}
	var both sync.WaitGroup
	both.Go(func() { runWorker(t, receive, when) })
	var sent result.PairEnd
	both.Go(func() { sent = runWorker(t, send, when) })
	both.Wait()
	if sent.Packets < 90 || sent.Packets > 110 {
		t.Errorf("%d frames were sent of 100", sent.Packets)
	}
	for _, i := range sent.Intervals {
		if i.Packets > 30 {
			t.Errorf("%d frames at once: %+v", i.Packets, sent.Intervals)
			break
		}
	}
}

// TestALiveThreadBeginsAtItsTurn, and not before.
func TestALiveThreadBeginsAtItsTurn(t *testing.T) {
	needsRoot(t)
	l, err := newLive(testHeader(four, 40000, 7, 64, false), 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.rate(1000, 1)
	l.delay(time.Minute)
	l.release()
	if err := l.call(1000); err != nil {
		t.Error(err)
	}
	if sent, _ := l.counts(warmUp); sent != 0 {
		t.Errorf("%d frames were sent before their time", sent)
	}
	l.record.Epoch -= uint64(time.Minute)
	if err := l.call(1000); err != nil {
		t.Error(err)
	}
	if sent, _ := l.counts(warmUp); sent == 0 || l.missed() > time.Second {
		t.Errorf("%d frames were sent at their time, and %s of the rate were missed", sent, l.missed())
	}
}
