package stream

import (
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestAWorkerKnowsThatItStoodStill: a thread of a program that is stopped, or has no CPU, is late for whatever it wakes for.
func TestAWorkerKnowsThatItStoodStill(t *testing.T) {
	w := &worker{closing: make(chan struct{})}
	w.still.For = 1500 * time.Millisecond
	near, far := connected(t, 1)
	defer far[0].Close()
	e := newTestEngine(t, []Flow{{Conn: near[0], Role: traffic.Receive}}, Config{})
	e.Start()
	for _, past := range []time.Duration{time.Hour, -time.Millisecond} { // what is over is nothing that it was late for once more
		at := time.Now().Add(-past)
		if err := w.sleep(t.Context(), e, at, at); err != nil || w.still.For != 1500*time.Millisecond {
			t.Errorf("stood for %s after a time that was over for %s: %v", w.still.For, past, err)
		}
	}
	end := w.report(e, e.Snapshot(), e.Snapshot())
	if end.StoodSeconds != 1.5 {
		t.Errorf("%g s are told", end.StoodSeconds)
	}
}

// TestNoIntervalBeginsInACatchUp: what lay in the buffers when a program went on came in the time before. Right behind it an interval had
// 42 Mbit/s of a path of 20. It is tried again where a busy machine let the while go by.
func TestNoIntervalBeginsInACatchUp(t *testing.T) {
	near, far := connected(t, 1)
	defer far[0].Close()
	e := newTestEngine(t, []Flow{{Conn: near[0], Role: traffic.Receive}}, Config{})
	e.Start()
	for range 100 {
		began := time.Now()
		w := &worker{closing: make(chan struct{})}
		r := newRecorder(e, traffic.Receive, traffic.Schedule{Start: began, Window: time.Hour, Interval: 5 * time.Millisecond})
		r.begin()
		w.still.Woke(time.Second)
		err := w.until(t.Context(), e, r, began.Add(30*time.Millisecond))
		r.close()
		if time.Since(began) >= 100*time.Millisecond {
			continue
		}
		if err != nil || len(r.main) > 0 || !r.next().After(began.Add(25*time.Millisecond)) {
			t.Errorf("%v: %+v, the next one ends after %s", err, r.main, r.next().Sub(began))
		}
		return
	}
	t.Error("this machine is too busy for it")
}

// TestAWindowBeginsBehindTheCatchUp, if there is time for it before its end.
func TestAWindowBeginsBehindTheCatchUp(t *testing.T) {
	near, far := connected(t, 1)
	defer far[0].Close()
	e := newTestEngine(t, []Flow{{Conn: near[0], Role: traffic.Receive}}, Config{})
	e.Start()
	w := &worker{closing: make(chan struct{})}
	w.still.Woke(time.Second)
	if err := w.catchUp(t.Context(), e, time.Now()); err != nil { // it is over: there is nothing to wait for
		t.Error(err)
	}
	w.still.Woke(time.Second)
	if err := w.catchUp(t.Context(), e, time.Now().Add(time.Hour)); err != nil || w.still.CatchesUp(time.Now()) {
		t.Errorf("%v; it still catches up", err)
	}
}
