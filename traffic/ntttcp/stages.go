package ntttcp

import (
	"context"
	"time"

	"windtunnel/traffic"
)

// observeEvery is how often ntttcp-for-linux shows what moves (ntttcp.h).
const observeEvery = 500 * time.Millisecond

// nearly is how much earlier the other end's clock may have run out: it began
// half a round trip before or after this one's.
const nearly = 500 * time.Millisecond

// slack is how much before the agreed total the connections of a sender may end that began when a receiver told it to, which the
// receiver knows to the moment: their clocks differ by less than a thousandth (NTP slews one by half of that), and timers are coarse.
func slack(total time.Duration) time.Duration {
	return min(nearly, 50*time.Millisecond+total/1000)
}

// forever stands for a test that somebody has to stop.
const forever = 100 * 365 * 24 * time.Hour

// stages takes a started fleet through warm-up, window and cool-down.
type stages struct {
	test  *Test
	fleet *fleet
	stop  <-chan why // how the other end ends it; may be nil
	began time.Time
	said  time.Time     // when a receiver told its senders to begin; zero: it did not
	last  tally         // when was last looked
	still traffic.Still // in this window

	broken bool             // that a flow ended early is told
	isOpen bool             // a window has begun, at last
	enough <-chan time.Time // when to look whether all datagrams came; nil: never
}

// lookEvery is how soon a UDP receiver with a number of buffers sees that it has
// them: nothing else tells it.
const lookEvery = 10 * time.Millisecond

// complete tells whether every thread's buffers of datagrams came, or left.
func (s *stages) complete() bool {
	for _, thread := range s.fleet.count().threads {
		if thread.packets < s.test.packets() {
			return false
		}
	}
	return true
}

// allMoved tells whether every thread has had all of its buffers. A receiver of datagrams never knows: some may be lost.
func (s *stages) allMoved() bool {
	if s.test.UDP {
		return s.test.Role == traffic.Receive || s.complete()
	}
	for _, thread := range s.fleet.count().threads {
		if thread.Bytes < s.test.Messages*uint64(s.test.Message) {
			return false
		}
	}
	return true
}

// Why a stage ended.
type why string

const (
	onTime  why = ""
	byUser  why = "it was interrupted"
	byPeer  why = "the other end ended the test"
	byGone  why = "the other end has gone"
	byFlows why = "every stream had ended"
)

// run lets the fleet go and counts. The total is what both ends agreed on: what
// it leaves after warm-up and window is the cool-down, and what it does not
// leave is cut off the window, as in ntttcp-for-linux.
func (s *stages) run(ctx context.Context, total time.Duration) Report {
	if total <= 0 {
		total = forever
	}
	if s.test.UDP && s.test.Messages > 0 && s.test.Role == traffic.Receive {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		s.enough = look.C
	}
	if s.test.WarmUp == 0 {
		s.open() // before the first byte, so that every one is counted
	}
	s.began = time.Now()
	s.fleet.start()
	s.test.say(Event{What: Progressing})
	var report Report
	reason := s.warmUp(ctx)
	if reason == onTime {
		reason = s.windows(ctx, total, &report)
	}
	if reason == onTime {
		reason = s.coolDown(ctx, total)
	}
	if reason == byFlows && s.test.Messages > 0 && s.allMoved() || reason != byUser && s.isTime(min(s.measureEnd(), total)) {
		reason = onTime
	}
	if reason == byFlows {
		reason = s.lastWord(ctx)
	}
	report.Early = string(reason)
	report.Cut = s.isCut(reason)
	if err := s.fleet.failure(); reason == byFlows && err != nil {
		report.Early += ": " + err.Error()
	}
	switch reason {
	case byUser:
		s.test.say(Event{What: Interrupted})
	case byPeer, byGone, byFlows:
		s.test.say(Event{What: PeerEnded, Took: time.Since(s.began), Text: report.Early})
	}
	last := s.fleet.count()
	if n := last.longer; n > 0 {
		s.test.note("%d datagrams were longer than this end's buffer of %d bytes (-l, or -b of ntttcp-for-linux): what goes beyond is not counted", n, s.test.Message)
	}
	if last.away > 0 {
		s.test.note("for %.3g s of the test nothing left this end: %v", last.away.Seconds()/float64(last.flows), last.awayWhy)
	}
	s.test.say(Event{What: CycleEnded})
	return report
}

// isTime tells whether the other end may have ended because so much time is over.
func (s *stages) isTime(end time.Duration) bool {
	if !s.said.IsZero() {
		return time.Since(s.said)+slack(end) >= end
	}
	return time.Since(s.began)+nearly >= end
}

// isCut tells whether a test that was to last lost its streams. A sender that says so (E) ends it as the protocol has it,
// and without sync senders come and go.
func (s *stages) isCut(reason why) bool {
	t := s.test
	free := t.Role == traffic.Receive && t.Sync == SyncNone && s.fleet.failure() == nil
	return t.Run > 0 && !free && (reason == byFlows || reason == byGone)
}

// lastWord is what a sender says behind the end of its streams, as ntttcp-for-linux's does that is interrupted.
func (s *stages) lastWord(ctx context.Context) why {
	if s.stop == nil {
		return byFlows
	}
	select {
	case reason := <-s.stop:
		return reason
	case <-time.After(goodbye):
	case <-ctx.Done():
	}
	return byFlows
}

func (s *stages) warmUp(ctx context.Context) why {
	if s.test.WarmUp == 0 {
		return onTime
	}
	s.last = s.fleet.count()
	reason := s.until(ctx, s.began.Add(s.test.WarmUp))
	for reason == onTime && s.still.CatchesUp(time.Now()) { // what was moved in place of the time before is none of the window
		now := time.Now()
		reason = s.until(ctx, now.Add(s.still.Rest(now)))
	}
	if reason == onTime {
		s.test.say(Event{What: WarmedUp})
	}
	return reason
}

// windows measures, in one piece or in samples. What was counted before an early
// end is reported, too.
func (s *stages) windows(ctx context.Context, total time.Duration, report *Report) why {
	end := s.began.Add(min(s.measureEnd(), total))
	for sample := s.began.Add(s.test.WarmUp); ; {
		until := end
		if sample = sample.Add(s.test.Sample); s.test.Sample > 0 && sample.Before(end) {
			until = sample
		}
		if !s.isOpen {
			s.open()
		}
		before := s.last
		s.isOpen = false
		reason := s.until(ctx, until)
		after := s.fleet.count()
		s.test.edge(false)
		seen := after.since(before)
		seen.Stood = s.still.For
		seen.Limit = s.test.limit(seen, before, after)
		report.Outcomes = append(report.Outcomes, seen)
		if reason != onTime || until.Equal(end) {
			s.test.say(Event{What: Completed})
			return reason
		}
	}
}

// open begins a window.
func (s *stages) open() {
	s.test.edge(true)
	s.last = s.fleet.count()
	s.still.For = 0
	s.isOpen = true
}

// measureEnd is when the window ends, counted from the start.
func (s *stages) measureEnd() time.Duration {
	if s.test.Run == 0 {
		return forever
	}
	return s.test.WarmUp + s.test.Run
}

func (s *stages) coolDown(ctx context.Context, total time.Duration) why {
	end := s.began.Add(total)
	if total == forever || !time.Now().Before(end) {
		return onTime
	}
	s.test.say(Event{What: CoolingDown, Took: time.Until(end)})
	observe := s.test.Observe
	s.test.Observe = nil // the tool shows nothing in the cool-down
	defer func() { s.test.Observe = observe }()
	return s.until(ctx, end)
}

// until waits for a time and shows what moves meanwhile.
func (s *stages) until(ctx context.Context, at time.Time) why {
	timer := time.NewTimer(0)
	defer timer.Stop()
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		beat := traffic.NextBeat(at)
		timer.Reset(time.Until(beat))
		select {
		case <-timer.C:
			s.still.Woke(time.Since(beat))
			if !beat.Before(at) {
				return onTime
			}
		case <-s.enough:
			s.still.Woke(time.Since(beat))
			if s.complete() {
				return byFlows
			}
		case <-tick.C:
			s.still.Woke(time.Since(beat))
			s.observe()
			if err := s.fleet.failure(); err != nil && !s.broken && time.Until(at) > nearly {
				s.broken = true
				s.test.note("a connection ended %.1f s after the start, the others go on: %v", time.Since(s.began).Seconds(), err)
			}
		case reason := <-s.stop:
			return reason
		case <-ctx.Done():
			return byUser
		case <-s.fleet.idle:
			if !s.fleet.busy() && !s.onlyLooked() {
				return byFlows
			}
		}
	}
}

// onlyLooked tells whether all who came to a receiver without sync have brought
// nothing: the senders may still come, while the time runs.
func (s *stages) onlyLooked() bool {
	t := s.test
	return t.Role == traffic.Receive && t.Sync == SyncNone && !t.Exact && s.fleet.count().bytes == 0
}

func (s *stages) observe() {
	if s.test.Observe == nil || s.still.CatchesUp(time.Now()) {
		return
	}
	now := s.fleet.count()
	s.test.Observe(now.bytes-s.last.bytes, now.at.Sub(s.last.at))
	s.last = now
}
