package frame

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestASinkForgets: after a renewal it counts as a new one does, and the frames of the session before are nobody's.
func TestASinkForgets(t *testing.T) {
	needsRoot(t)
	h := testHeader(four, 40000, 7, 100, false)
	for _, shared := range []bool{false, true} {
		r := newRig(t, expectedOf(h, 3), shared)
		old, b := newStamp(h)
		show := func(s stamp, numbers ...number) {
			t.Helper()
			for _, n := range numbers {
				program, inGo := r.take(t, b[:s.write(b, n)], shared)
				if program != inGo {
					t.Errorf("session %d: the program found %+v its own: %v, Go: %v", s.session, n, program, inGo)
				}
			}
		}
		some := []number{{warmUp, 0, 0}, {window, 2, 5}, {window, 2, 5}, {window, 2, 3000}, {window, 2, 1}, {probing, 0, 0}}
		show(old, some...)
		r.compare(t)

		next := h
		next.session++
		if err := r.renew(next.session); err != nil {
			t.Fatal(err)
		}
		r.expected.session, r.memory, r.want = next.session, newSequences(3), tally{}
		r.compare(t)
		show(old, some...)
		r.compare(t)
		anew, _ := newStamp(next)
		show(anew, some...)
		r.compare(t)
	}
}

// TestWorkersAreRenewed: trial after trial has its own counts, at its own rate.
func TestWorkersAreRenewed(t *testing.T) {
	needsRoot(t)
	for window := 100 * time.Millisecond; ; window *= 4 { // others may have the CPUs for longer than a short one
		why := renewedTrials(t, window)
		if why == "" {
			return
		}
		if window > 5*time.Second {
			t.Fatal(why)
		}
		t.Log(why)
	}
}

// renewedTrials are three of one pair of workers; what it returns is of a machine that was busy elsewhere.
func renewedTrials(t *testing.T, window time.Duration) string {
	order := func(role traffic.Role, address string, packets float64) traffic.Order {
		return traffic.Order{Role: role, Load: result.Options{"packets": packets, "flows": 9}, Address: address, Keep: true}
	}
	receive := prepare(t, order(traffic.Receive, "127.0.0.1", 0))
	defer receive.Close()
	send := prepare(t, order(traffic.Send, receive.Address(), 0))
	defer send.Close()
	for _, packets := range []float64{0, 3000, 6000} {
		if packets > 0 {
			renew(t, receive, order(traffic.Receive, "127.0.0.1", packets))
			renew(t, send, order(traffic.Send, receive.Address(), packets))
		}
		began := time.Now()
		when := traffic.Schedule{Start: began.Add(20 * time.Millisecond), WarmUp: 20 * time.Millisecond, Window: window, Alone: true}
		var got, sent result.PairEnd
		var failed [2]error
		var both sync.WaitGroup
		both.Go(func() { got, failed[0] = receive.Run(t.Context(), when) })
		both.Go(func() { sent, failed[1] = send.Run(t.Context(), when) })
		both.Wait()
		took := time.Since(began).Seconds()
		if failed[0] != nil || failed[1] != nil || got.Error+sent.Error != "" {
			return fmt.Sprint(failed, got.Error, sent.Error)
		}
		a := got.Arrived
		if got.Packets+a.Lost != sent.Packets || a.Duplicate+a.Corrupt+a.Late != 0 || sent.Offered.TargetPacketsPerSecond != packets {
			t.Errorf("at %g: sent %d (%+v), got %d (%+v)", packets, sent.Packets, *sent.Offered, got.Packets, *a)
		}
		if most := packets*took + 256; packets > 0 && float64(sent.Packets) > most {
			t.Errorf("at %g: %d frames sent in %g s and less", packets, sent.Packets, took)
		}
	}
	return ""
}

func renew(t *testing.T, w traffic.Worker, order traffic.Order) {
	t.Helper()
	if err := w.(traffic.Renewed).Renew(t.Context(), order); err != nil {
		t.Fatal(err)
	}
}

// TestASenderThatLeftIsNotWaitedFor in another session, nor one that speaks out of turn.
func TestASenderThatLeftIsNotWaitedFor(t *testing.T) {
	for name, leave := range map[string]func(*session){
		"":                              func(*session) {},
		"went away":                     func(s *session) { s.control.Close() },
		"the sender speaks out of turn": func(s *session) { s.refused(5, false) },
	} {
		ln := testListener(t)
		s := joinTo(t, ln)
		<-ln.joined
		if err := s.tell(final{sent: 1, windowNS: 1}); err != nil {
			t.Fatal(err)
		}
		<-ln.last
		leave(s)
		for until := time.Now().Add(10 * time.Second); name != "" && silentOn(ln.sender) == nil && time.Now().Before(until); {
		}
		err := ln.renew(8)
		if (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
		if name != "" {
			continue
		}
		if err := s.again(t.Context()); err != nil || s.number != 8 {
			t.Errorf("session %d, %v", s.number, err)
		}
	}
}

// TestAnotherOrderNeedsAnother: what differs in more than its rate.
func TestAnotherOrderNeedsAnother(t *testing.T) {
	before := traffic.Order{Role: traffic.Send, Address: "192.0.2.1:5", CPUs: []int{1}, Load: result.Options{"packets": 5.0}}
	device := traffic.Port{Device: "eth0"}
	for name, c := range map[string]struct {
		change func(*traffic.Order)
		will   bool
	}{
		"its rate":        {func(o *traffic.Order) { o.Load = result.Options{"packets": 7.0} }, true},
		"its window":      {func(o *traffic.Order) { o.WindowSeconds = 3 }, true},
		"its flows":       {func(o *traffic.Order) { o.Load = result.Options{"flows": 2} }, false},
		"its size":        {func(o *traffic.Order) { o.Load = result.Options{"size": int64(128)} }, false},
		"its receiver":    {func(o *traffic.Order) { o.Address = "192.0.2.1:6" }, false},
		"its CPU":         {func(o *traffic.Order) { o.CPUs = []int{0} }, false},
		"its port":        {func(o *traffic.Order) { o.Port = &device }, false},
		"what is no load": {func(o *traffic.Order) { o.Load = result.Options{"method": "x"} }, false},
	} {
		now := before
		c.change(&now)
		if l, err := renewed(before, now); (err == nil) != c.will || c.will && l.rate != now.Load.Float("packets") {
			t.Errorf("another in %s: %+v, %v", name, l, err)
		}
	}
}

// TestWhatLasts: a tester's session does not.
func TestWhatLasts(t *testing.T) {
	for name, c := range map[string]struct {
		order traffic.Order
		want  bool
	}{
		"at an interface":   {traffic.Order{Keep: true}, true},
		"at a port's":       {traffic.Order{Keep: true, Port: &traffic.Port{Device: "eth0"}}, true},
		"at a tester":       {traffic.Order{Keep: true, Port: &traffic.Port{Tester: "/x"}}, false},
		"where none follow": {traffic.Order{}, false},
	} {
		receive, send := &receiveWorker{order: c.order, sink: &bpfSink{}}, &sendWorker{order: c.order}
		if receive.Renewable() != c.want || send.Renewable() != c.want {
			t.Errorf("%s: the receiver %v, the sender %v", name, receive.Renewable(), send.Renewable())
		}
	}
	if (&receiveWorker{order: traffic.Order{Keep: true}, sink: &packetSink{}}).Renewable() {
		t.Error("a sink in Go counts another session")
	}
}
