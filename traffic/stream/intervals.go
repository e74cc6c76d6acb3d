package stream

import (
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// recorder cuts a run into intervals, counted from the window's beginning, so
// that the first of the warm-up may be short.
type recorder struct {
	engine *Engine
	role   traffic.Role // whose intervals are told live
	window time.Time    // when the window begins
	length time.Duration
	edge   time.Time // when the interval that runs now is meant to end
	last   Snapshot
	main   []result.Interval
	across []result.Interval // of the opposite direction

	watcher *traffic.Watcher
}

func newRecorder(e *Engine, role traffic.Role, when traffic.Schedule) *recorder {
	r := &recorder{engine: e, role: role, window: when.Start.Add(when.WarmUp), length: when.Interval}
	if r.length <= 0 {
		return r
	}
	r.edge = r.window.Add(-(when.WarmUp / r.length) * r.length)
	if when.WarmUp%r.length == 0 {
		r.edge = r.edge.Add(r.length)
	}
	r.watcher = traffic.NewWatcher(when.Observe)
	return r
}

// begin notes where the first interval starts.
func (r *recorder) begin() {
	if r.length > 0 {
		r.last = r.engine.Snapshot()
	}
}

// next is when the running interval ends; zero for never.
func (r *recorder) next() time.Time {
	if r.last.At.IsZero() {
		return time.Time{}
	}
	return r.edge
}

// enter lets an interval begin with the window's first reading, which ends the warm-up's last one.
func (r *recorder) enter(window Snapshot) {
	if r.length <= 0 {
		return
	}
	if r.edge.After(window.At) { // none is to end: there was no warm-up, or the last one ended late
		r.last = window
		return
	}
	r.record(window)
}

// record ends the running interval with a reading.
func (r *recorder) record(now Snapshot) {
	main, across := r.interval(r.role, now), r.interval(other(r.role), now)
	r.main, r.across = append(r.main, main), append(r.across, across)
	main.BackBytes = across.Bytes
	r.watcher.Tell(main)
	r.last = now
	r.extend(now.At)
}

// extend lets the running interval end with the next one that is not over, also where some were slept through.
func (r *recorder) extend(now time.Time) {
	for !r.edge.After(now) {
		r.edge = r.edge.Add(r.length)
	}
}

func (r *recorder) interval(role traffic.Role, now Snapshot) result.Interval {
	i := result.Interval{From: r.last.At.Sub(r.window).Seconds(), To: now.At.Sub(r.window).Seconds()}
	for n, f := range now.Flows {
		if f.Role != role {
			continue
		}
		was := r.last.Flows[n]
		i.Bytes += f.Bytes - was.Bytes
		if f.TCP != nil && was.TCP != nil {
			i.Retransmits += uint64(f.TCP.Retransmits - was.TCP.Retransmits)
		}
	}
	return i
}

// fill ends the last interval with the window's last reading and hands all of them in.
func (r *recorder) fill(end *result.PairEnd, window Snapshot) {
	if r.length <= 0 {
		return
	}
	r.record(window)
	end.Intervals = r.main
	if end.Opposite != nil {
		end.Opposite.Intervals = r.across
	}
}

// close waits for the observer to have seen all.
func (r *recorder) close() { r.watcher.Close() }
