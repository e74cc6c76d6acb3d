package command

import (
	"math"

	"windtunnel/result"
	"windtunnel/traffic/iperf3"
)

// extraKey is the member that iperf3's JSON has not; its readers pass over it.
const extraKey = "windtunnel"

// tree is what stands beside iperf3's JSON.
func (t *truth) tree(e iperf3.End) *object {
	streams := []any{}
	for _, s := range e.Streams {
		if one := streamTruth(s); one != nil {
			streams = append(streams, one)
		}
	}
	o := &object{}
	if e.Partial {
		o.add("partial", true)
	}
	if e.CPUShared {
		o.add("cpu_of_all_clients", true)
	}
	if len(streams) > 0 {
		o.add("streams", streams)
	}
	limit := &object{}
	if e.Limit.Verdict != "" {
		limit.add("verdict", e.Limit.Verdict)
	}
	o.add("limit", limit.add("says", e.Limit.Says))
	addTimes(o, "jitter_ms", e.Jitter)
	addTimes(o, "send_lag_ms", e.Lag)
	if e.Away > 0 {
		o.add("away_seconds", e.Away.Seconds()).add("away_why", e.AwayWhy.Error())
	}
	if e.Stood > 0 {
		o.add("stood_seconds", e.Stood.Seconds())
	}
	if e.RemoteStood > 0 {
		o.add("remote_stood_seconds", e.RemoteStood.Seconds())
	}
	if len(t.disturbed) > 0 {
		o.add("disturbed_intervals", t.intervals())
	}
	if t.leftOut > 0 {
		o.add("disturbed_intervals_left_out", t.leftOut)
	}
	return o
}

func streamTruth(s iperf3.StreamEnd) *object {
	if s.UDP == nil || s.UDP.True == nil {
		return nil
	}
	o := (&object{}).add("socket", s.Socket).add("id", s.ID)
	addArrivals(o, *s.UDP.True)
	return o
}

func addArrivals(o *object, a iperf3.Arrivals) {
	o.add("received", a.Received).add("lost", a.Lost).add("late", a.Late).add("reordered", a.Reordered).
		add("duplicate", a.Duplicate).add("corrupt", a.Corrupt).add("socket_drops", a.SocketDrops)
}

func addTimes(o *object, name string, h *result.Histogram) {
	if h == nil || h.Count == 0 {
		return
	}
	times := (&object{}).add("count", h.Count)
	for _, t := range []struct {
		name    string
		seconds float64
	}{{"min", h.Min}, {"mean", h.Mean}, {"p50", h.P50}, {"p90", h.P90}, {"p99", h.P99}, {"p99_9", h.P999}, {"max", h.Max}} {
		times.add(t.name, math.Round(t.seconds*1e9)/1e6) // to the nanosecond
	}
	o.add(name, times)
}

func (t *truth) intervals() []any {
	all := []any{}
	for _, i := range t.disturbed {
		streams := []any{}
		for _, s := range i.Streams {
			if s.UDP == nil || s.UDP.True == nil {
				continue
			}
			one := (&object{}).add("socket", s.Socket).add("id", s.ID)
			addArrivals(one, *s.UDP.True)
			streams = append(streams, one)
		}
		all = append(all, (&object{}).add("start", i.Start).add("end", i.End).add("omitted", i.Omitted).add("streams", streams))
	}
	return all
}
