package datagram

import (
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestWhatStillComesIsNotLost: the sender's word comes at once, and its datagrams wait in a queue of their own, or are few, or all take longer
// than that. They were told as lost, and what came after the window was taken for its rate: 1.42 Mbit/s by a path that carries 1.
func TestWhatStillComesIsNotLost(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		load  result.Options
		way   time.Duration // of the first datagram
		after time.Duration // the sender's word comes the first
		every time.Duration
		many  int
	}{
		"a long queue":    {every: 10 * time.Millisecond, many: 330},
		"few of them":     {load: result.Options{"packets": 2.0}, every: 500 * time.Millisecond, many: 2},
		"over a long way": {way: 1600 * time.Millisecond, after: 1500 * time.Millisecond, every: time.Millisecond, many: 10},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var end result.PairEnd
			var err error
			lost := func() bool {
				return err != nil || end.Error != "" || end.Packets != uint64(c.many) || end.Arrived.Lost != 0
			}
			for try, heldUp := 0, true; try < 5 && heldUp && (try == 0 || lost()); try++ {
				receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1", Load: c.load})
				s := fakeSenderAfter(t, receive.Address(), c.way)
				when := soon()
				when.OneOff = true
				over := when.Start.Add(when.WarmUp + when.Window)
				sent := make(chan time.Duration, 1)
				time.AfterFunc(time.Until(over), func() {
					s.tell(noteTotals, totals{{0, uint64(c.many), 1}}.encode())
					time.Sleep(c.after)
					b, longest := template(s.load.message, nil), time.Duration(0)
					for i := range c.many + 1 {
						before := time.Now()
						time.Sleep(c.every)
						mark := uint8(markWindow + i/c.many)
						longHeader{s.key}.Put(b, Stamp{Mark: mark, Seq: uint64(i), Sent: int64(i) * when.Window.Nanoseconds() / int64(c.many)})
						s.conns[0].Write(b)
						longest = max(longest, time.Since(before)-c.every)
					}
					sent <- longest
				})
				end, err = receive.Run(t.Context(), when)
				heldUp = <-sent >= quiet/2 // by this machine, so that they came no more
			}
			if lost() {
				t.Errorf("%v %s, %d came of %d, %+v", err, end.Error, end.Packets, c.many, end.Arrived)
			}
			if took := time.Duration(c.many) * c.every; c.many > fewDatagrams && end.WindowSeconds < took.Seconds()*0.99 {
				t.Errorf("they came in %s, and not in %g s", took, end.WindowSeconds)
			}
		})
	}
}

// TestALongerQueueIsNamed: where the peer's word does not come, or the peer has given up, though something is on its way still, after all that
// it is waited for. It was that the peer is silent, or went away.
func TestALongerQueueIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		oneOff, left, queued bool
		after                time.Duration
		says                 string
	}{
		"nothing comes":    {true, false, false, 13 * time.Second, errSilent.Error()},
		"it still comes":   {true, false, true, 13 * time.Second, "a queue on the way still brought some of it 13s after the window"},
		"in a suite":       {false, false, true, 13 * time.Second, errSilent.Error()},
		"the peer gave up": {true, true, true, 13 * time.Second, "send no more than the path carries (a lower rate), or for a shorter time"},
		"it went away":     {true, true, false, 13 * time.Second, errPeer.Error()},
		"it did so before": {true, true, true, 2 * time.Second, errPeer.Error()},
	} {
		r := run{
			worker: &worker{closing: make(chan struct{})}, session: &session{notes: make(chan note), gone: make(chan struct{})},
			when: traffic.Schedule{OneOff: c.oneOff}, ctx: t.Context(), ended: Snapshot{At: time.Now().Add(-c.after)},
		}
		limit := time.Now().Add(-traffic.LongestQueue)
		if c.left {
			limit = time.Now().Add(time.Hour)
			close(r.session.gone)
		}
		err := r.hear(limit, func() bool { return c.queued }, func() bool { return false })
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhoDidNotLookHeardNoSilence: a receiver that had no CPU for longer than it waits told as lost what lay in its socket.
func TestWhoDidNotLookHeardNoSilence(t *testing.T) {
	now := time.Now()
	s := newSilence(now)
	for _, c := range []struct {
		after time.Duration
		have  uint64
		want  time.Duration
	}{
		{2 * time.Millisecond, 0, 2 * time.Millisecond}, {2 * time.Millisecond, 1, 0}, {19 * time.Millisecond, 1, 19 * time.Millisecond},
		{time.Second, 1, 19 * time.Millisecond}, {2 * time.Millisecond, 1, 21 * time.Millisecond}, {time.Second, 2, 0},
	} {
		now = now.Add(c.after)
		if got := s.look(now, c.have); got != c.want {
			t.Errorf("%s later, with %d: a silence of %s, not %s", c.after, c.have, got, c.want)
		}
	}
}

// TestWhatWasSentIsNotKnown: a sender that has not told how many may have lost any number. It was that none was lost.
func TestWhatWasSentIsNotKnown(t *testing.T) {
	t.Parallel()
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
	s := fakeSender(t, receive.Address())
	when := soon()
	b := template(s.load.message, nil)
	time.AfterFunc(time.Until(when.Start)+when.WarmUp+50*time.Millisecond, func() {
		longHeader{s.key}.Put(b, Stamp{Mark: markWindow, Seq: 0})
		s.conns[0].Write(b)
	})
	end, err := receive.Run(t.Context(), when)
	if err != nil || end.Error == "" || end.Packets != 1 || !slices.Contains(end.Arrived.Untold, result.Loss) {
		t.Errorf("%v, %q, %d came: %+v", err, end.Error, end.Packets, end.Arrived)
	}
}

// TestASenderWaitsForWhoStillCounts: the receiver says so, and counts for as long as more comes.
func TestASenderWaitsForWhoStillCounts(t *testing.T) {
	t.Parallel()
	send, s := senderToAFake(t)
	when := soon()
	when.OneOff = true
	over := time.Until(when.Start) + when.WarmUp + when.Window
	time.AfterFunc(over+tailMost+drain+drain/2, func() { s.tell(noteCounts, nil) })
	time.AfterFunc(over+tailMost+3*drain, func() { s.tell(noteDone, nil) })
	if end, err := send.Run(t.Context(), when); err != nil || end.Error != "" || end.Packets == 0 {
		t.Errorf("%v, %s", err, end.Error)
	}
}
