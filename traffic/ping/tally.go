package ping

import (
	"windtunnel/result"
)

// plan is when a worker does what, by nanotime. Requests are due from start until
// stop; those due from from until to are the window's.
type plan struct {
	start, from, to, stop int64
	interval              int64 // ns; 0: no interval records
}

// holds tells whether a request that is due at a time is the window's.
func (p *plan) holds(intended int64) bool { return intended >= p.from && intended < p.to }

// index is the number of the interval of a time: from the window's begin; the warm-up's are below 0.
func (p *plan) index(at int64) int {
	d := at - p.from
	if d < 0 {
		d -= p.interval - 1
	}
	return int(d / p.interval)
}

// end is the number of the first interval after the window.
func (p *plan) end() int { return int((p.to - p.from + p.interval - 1) / p.interval) }

// How a request ended, beside the states of a request.
const lateAnswer uint8 = 100 // answered after it had been given up

// ended is a request that something has become of.
type ended struct {
	intended, sent, done int64
	state                uint8
	read                 bool
}

// restMost bounds, in ns, how long a flow's answers are taken that wait in its socket when the trial is over.
const restMost = 200e6

// leastSilence is after how long, in ns, a flow without a byte is silent at the least, however short a wait was asked for: so long TCP itself
// waits before it sends again what got lost (TCP_RTO_MIN of Linux).
const leastSilence = 200e6

// flushEvery is how many requests may end before the histograms must take them.
const flushEvery = 512

// tally is what one hot thread counts. Hot loops only write ended requests down
// (note); flush, at a safe point, puts them into histograms and intervals.
type tally struct {
	plan     plan
	wait     int64 // ns, for an answer
	lateness int64 // ns, as the load's
	closed   bool  // a closed loop: intended and actual times are the same
	ended    [flushEvery]ended
	n        int

	intended, actual, lag        *result.Recorder
	answered, late, lost, refuse uint64 // of the window's requests
	reads                        uint64 // of those answered
	unread                       uint64 // reads that were lost, or answered late
	unsent                       uint64 // of those lost: they never left
	within                       uint64 // answers that came in the window, of all requests
	duplicate, corrupt           uint64
	silent                       bool   // a flow with open requests had no answer for as long as one is waited for
	steps                        *steps // nil: no intervals
}

func newTally(l load, p plan) *tally {
	t := &tally{plan: p, wait: l.wait.Nanoseconds(), lateness: l.lateness().Nanoseconds(), closed: !l.open(), actual: result.NewRecorder()}
	if !t.closed {
		t.intended, t.lag = result.NewRecorder(), result.NewRecorder()
	}
	return t
}

// room is how many more requests may end before a flush.
//
//go:nosplit
func (t *tally) room() int { return flushEvery - t.n }

// note writes down that a request has ended; there must be room.
//
//go:nosplit
func (t *tally) note(r *request, done int64, state uint8) {
	t.ended[t.n] = ended{r.intended, r.sent, done, state, r.read}
	t.n++
}

//go:nosplit
func (t *tally) stray(now int64, was uint8) {
	switch {
	case now < t.plan.from || now >= t.plan.to || was == forgotten: // which counted as lost
	case was == answered:
		t.duplicate++
	default:
		t.corrupt++
	}
}

// flush counts what has ended, and passes intervals on that are over by now.
func (t *tally) flush(now int64) {
	for i := range t.ended[:t.n] {
		e := &t.ended[i]
		if t.steps != nil {
			t.steps.take(e, t.closed)
		}
		if (e.state == answered || e.state == lateAnswer) && t.plan.holds(e.done) {
			t.within++
		}
		if t.plan.holds(e.intended) {
			t.count(e)
		}
	}
	t.n = 0
	if t.steps != nil {
		t.steps.reach(now)
	}
}

// count takes a request of the window. Latencies hold every answer, late ones, too.
func (t *tally) count(e *ended) {
	switch e.state {
	case answered:
		t.answered++
		if e.read {
			t.reads++
		}
	case lateAnswer:
		t.lost--
		t.late++
	case givenUp:
		t.miss(e)
		t.recordLag(e)
		return
	case refused:
		t.refuse++
		return
	case due: // at the trial's end, as the next: it has no time at which it left
		t.miss(e)
		t.unsent++
		if !t.closed {
			t.intended.Record(e.done - e.intended)
		}
		return
	case open:
		t.miss(e)
	}
	t.actual.Record(e.done - e.sent)
	if !t.closed {
		t.intended.Record(e.done - e.intended)
	}
	if e.state != lateAnswer {
		t.recordLag(e)
	}
}

// miss counts a request without an answer in time. A late one does not end it: it moves
// from lost to late.
func (t *tally) miss(e *ended) {
	t.lost++
	if e.read {
		t.unread++
	}
}

func (t *tally) recordLag(e *ended) {
	if !t.closed && e.sent != 0 {
		t.lag.Record(e.sent - e.intended)
	}
}

// listen notes whether a flow that has open requests when its thread ends is silent, for as long as an answer is waited for: something of
// one came last at a time.
func (t *tally) listen(o *outstanding, last, now int64) {
	if o.alive > 0 && last < now-max(t.wait, leastSilence) {
		t.silent = true
	}
}

// leave counts what is open on a flow when its thread ends. A broken one answers nothing more.
func (t *tally) leave(o *outstanding, now int64, stream, broken bool) {
	for ; o.first < o.next; o.first++ {
		r := o.slot(o.first)
		if (r.state == open || r.state == due) && (broken || !t.undecided(r, now)) {
			t.unanswered(r, now, stream)
		}
	}
}

// unanswered counts what was still open when the trial ended. Over TCP an answer
// would have come, so the time until now is a part of its latency; what had not
// left yet counts from the intended time only.
func (t *tally) unanswered(r *request, now int64, stream bool) {
	if !t.plan.holds(r.intended) {
		return
	}
	e := ended{r.intended, r.sent, now, r.state, r.read}
	if !stream {
		e.state = givenUp
	}
	if t.steps != nil {
		t.steps.take(&e, t.closed)
	}
	t.count(&e)
}

// undecided tells of a request under way whose answer might yet have come in time when
// the trial was cut short: nobody knows whether it would have been lost. At the end of
// a whole trial there is none, since the wait for the last one that was due is over.
func (t *tally) undecided(r *request, now int64) bool {
	since := r.sent
	if r.state == due {
		since = r.intended
	}
	return now < min(since, t.plan.stop+t.lateness)+t.wait
}

// outcome is the sum of what several threads counted.
type outcome struct {
	answered, late, lost, refused uint64
	unsent                        uint64 // of those lost: they never left
	within                        uint64 // answers in the window
	reads                         uint64 // of those answered
	unread                        uint64 // reads that were lost, or answered late
	duplicate, corrupt            uint64
	silent                        bool // a flow had no answer for as long as one is waited for
	latencies                     map[string]result.Histogram
	lag                           *result.Histogram
}

// sum adds tallies up; the first one's recorders take the others'.
func sum(tallies []*tally) outcome {
	var o outcome
	for i, t := range tallies {
		o.answered += t.answered
		o.within += t.within
		o.reads += t.reads
		o.unread += t.unread
		o.unsent += t.unsent
		o.late += t.late
		o.lost += t.lost
		o.refused += t.refuse
		o.duplicate += t.duplicate
		o.corrupt += t.corrupt
		o.silent = o.silent || t.silent
		if i == 0 {
			continue
		}
		tallies[0].actual.Merge(t.actual)
		if !t.closed {
			tallies[0].intended.Merge(t.intended)
			tallies[0].lag.Merge(t.lag)
		}
	}
	all := tallies[0]
	o.latencies = map[string]result.Histogram{result.LatencyActual: all.actual.Histogram()}
	if !all.closed {
		o.latencies[result.LatencyIntended] = all.intended.Histogram()
		lag := all.lag.Histogram()
		o.lag = &lag
	}
	return o
}

// requests is how many of the window's requests had their place among those under way.
func (o outcome) requests() uint64 { return o.answered + o.late + o.lost }

// sent is how many of them the socket took.
func (o outcome) sent() uint64 { return o.requests() - o.unsent }
