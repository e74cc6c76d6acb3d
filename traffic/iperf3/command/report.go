package command

import (
	"encoding/json"
	"math"

	"windtunnel/traffic/iperf3"
)

// report is an Observer that gathers one test as iperf3's JSON, or tells it as
// lines of events.
type report struct {
	screen *screen
	output output
	server bool
	about  iperf3.Start
	begun  bool
	ended  *iperf3.End

	start, end *object
	intervals  []any
	room       int // stream intervals that may still be kept
	leftOut    int // intervals for which there was none
	failure    string
	truth      truth
	session    uint64 // of a server, in its events; 0 for none
}

func newReport(screen *screen, o output, server bool) *report {
	r := &report{screen: screen, output: o, server: server, start: startBefore(nil), end: &object{}, room: math.MaxInt}
	if server {
		r.room = mostKept
	}
	r.truth.room = r.room
	return r
}

// mostKept bounds what a server keeps of one client until its end, in intervals times
// streams (some 15 MB): hours of a stream, a few minutes of as many as there may be.
const mostKept = 20_000

// asked fills in what is known of start before the server has agreed.
func (r *report) asked(s iperf3.Start) {
	r.about = s
	r.screen.warnOfFragments(s)
	r.start = addAsked(startBefore(nil), s, true)
}

// Connected fills in start, and tells it.
func (r *report) Connected(s iperf3.Start) {
	r.about, r.begun = s, true
	r.start = startTree(s)
	r.event("start", r.start)
}

// Interval adds an interval, and tells it. A stream of events does not keep
// them, unless somebody will ask for the whole.
func (r *report) Interval(i iperf3.Interval) {
	r.truth.interval(i)
	if negligible(i, r.about.Test.Interval.Seconds()) {
		return
	}
	tree := intervalTree(r.about, i)
	if !r.output.stream || r.output.full || r.server && r.about.Test.GetServerOutput {
		r.keep(tree, len(i.Streams))
	}
	r.event("interval", tree)
}

// keep says on the way what it leaves out, and in the end how much.
func (r *report) keep(interval any, streams int) {
	if streams <= r.room {
		r.room -= streams
		r.intervals = append(r.intervals, interval)
		return
	}
	if r.leftOut++; r.leftOut == 1 {
		r.screen.warn("%s: the JSON of one test holds %d intervals of streams here: further ones are left out, but for its end", r.about.Host, mostKept)
	}
}

// Ended fills in end.
func (r *report) Ended(e iperf3.End) {
	r.ended = &e
	r.end = endTree(r.about, e)
}

// Failed has nothing to do here: whoever runs the test says how it failed.
func (r *report) Failed(error) {}

// Transcript is the whole as it is, for a client that asked.
func (r *report) Transcript() (string, json.RawMessage) {
	tree := r.core()
	if r.leftOut > 0 {
		tree.add(extraKey, (&object{}).add("intervals_left_out", r.leftOut))
	}
	return "", json.RawMessage(compact(tree))
}

func (r *report) core() *object {
	intervals := r.intervals
	if intervals == nil {
		intervals = []any{}
	}
	return (&object{}).add("start", r.start).add("intervals", intervals).add("end", r.end)
}

// whole is the object that -J prints.
func (r *report) whole() *object {
	o := r.core()
	if r.failure != "" {
		o.add("error", r.failure)
	}
	if title := r.about.Test.Title; title != "" {
		o.add("title", title)
	}
	if extra := r.about.Test.ExtraData; extra != "" {
		o.add("extra_data", extra)
	}
	if said, name := r.serverSaid(); said != nil {
		o.add(name, said)
	}
	if tree := r.extra(); tree != nil {
		o.add(extraKey, tree)
	}
	return o
}

// serverSaid is the server's output where the client asked for it.
func (r *report) serverSaid() (said any, name string) {
	if r.ended == nil || r.server {
		return nil, ""
	}
	if text := r.ended.ServerOutputText; text != "" {
		return text, "server_output_text"
	}
	if len(r.ended.ServerOutputJSON) > 0 {
		if tree, err := parseTree(r.ended.ServerOutputJSON); err == nil {
			return tree, "server_output_json"
		}
	}
	return nil, ""
}

func (r *report) extra() *object {
	if r.output.plain || r.ended == nil {
		return nil
	}
	tree := r.truth.tree(*r.ended)
	if r.leftOut > 0 {
		tree.add("intervals_left_out", r.leftOut)
	}
	return tree
}

// finish prints what is printed at the end. The failure is as iperf3 says it,
// "" for none.
func (r *report) finish(failure string) {
	r.failure = failure
	if r.output.stream {
		r.lastEvents()
		if !r.output.full {
			return
		}
	}
	r.screen.whole(pretty(r.whole()))
}

// lastEvents tells in iperf3's order; what it has not stands before the end.
func (r *report) lastEvents() {
	if r.failure != "" {
		r.event("error", r.failure)
	}
	if said, name := r.serverSaid(); said != nil {
		r.event(name, said)
	}
	if tree := r.extra(); tree != nil {
		r.event(extraKey, tree)
	}
	r.event("end", r.end)
}

// event writes a line of --json-stream. A server has many clients at once: there
// a member that iperf3 has not tells whose it is.
func (r *report) event(name string, data any) {
	if !r.output.stream {
		return
	}
	o := (&object{}).add("event", name).add("data", data)
	if r.session > 0 && !r.output.plain {
		o.add(extraKey, (&object{}).add("session", r.session))
	}
	r.screen.whole(compact(o))
}
