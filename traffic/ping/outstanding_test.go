package ping

import (
	"math/rand/v2"
	"testing"
	"time"
)

// ask books and sends one request.
func (o *outstanding) ask(at int64) bool {
	if !o.book(at) {
		return false
	}
	o.left(at)
	return true
}

func TestAnswersFindTheirRequests(t *testing.T) {
	o := newOutstanding(4, 4)
	for i := range int64(4) {
		if !o.ask(i) {
			t.Fatalf("request %d was refused", i)
		}
	}
	if o.book(4) {
		t.Error("a fifth request went over the limit")
	}
	if r, was := o.answerNumbered(2, 0xff); was != open || r.intended != 2 {
		t.Errorf("got %+v, %d", r, was)
	}
	if _, was := o.answerNumbered(2, 0xff); was != answered {
		t.Errorf("an answer came again and was %d before", was)
	}
	if r, _ := o.answerNumbered(77, 0xff); r != nil {
		t.Errorf("nobody asked 77: %+v", r)
	}
	if r := o.giveUp(1); r == nil || r.intended != 0 || o.giveUp(1) != nil {
		t.Error("the request of 0, and only it, left before 1")
	}
	if _, was := o.answerNumbered(0, 0xff); was != givenUp {
		t.Errorf("a late answer was %d before", was)
	}
	if o.first != 1 || o.alive != 2 || o.oldest().intended != 1 {
		t.Errorf("%+v", o)
	}
}

// TestNumbersWrap goes round one byte of numbers many times, with losses.
func TestNumbersWrap(t *testing.T) {
	o := newOutstanding(1, 1)
	lost := 0
	for i := range int64(1000) {
		if !o.ask(i) {
			t.Fatalf("request %d was refused", i)
		}
		if rand.IntN(10) == 0 {
			lost++
			o.giveUp(i + 1)
			continue
		}
		if r, was := o.answerNumbered(uint64(i)&0xff, 0xff); was != open || r.intended != i {
			t.Fatalf("answer %d found %+v, %d", i, r, was)
		}
	}
	if o.alive != 0 || o.first != 1000 {
		t.Errorf("%d alive, first %d after %d lost", o.alive, o.first, lost)
	}
}

func TestSocketRefusalsFreeTheirPlace(t *testing.T) {
	o := newOutstanding(1, 1)
	for i := range int64(300) {
		if !o.book(i) {
			t.Fatalf("request %d was refused", i)
		}
		o.turnedAway()
	}
	if !o.ask(300) || o.oldest().intended != 300 || o.answerOldest() == nil || o.answerOldest() != nil {
		t.Errorf("%+v", o)
	}
}

func FuzzAnswerNumbered(f *testing.F) {
	f.Add(uint64(0), uint8(1), uint16(3))
	f.Add(^uint64(0), uint8(8), uint16(500))
	f.Fuzz(func(t *testing.T, number uint64, width uint8, asked uint16) {
		o := newOutstanding(8, 8)
		for i := range int64(asked) {
			if !o.ask(i) {
				o.answerOldest()
				o.ask(i)
			}
		}
		alive := o.alive
		r, was := o.answerNumbered(number, ^uint64(0)>>(64-8*uint(1+width%8)))
		if (r != nil && was == open) != (o.alive == alive-1) || o.first > o.next {
			t.Errorf("%+v was %d: %d alive, %d before", r, was, o.alive, alive)
		}
	})
}

func TestArrivalsKeepTheRate(t *testing.T) {
	for name, l := range map[string]load{"fixed": {rate: 10000, flows: 3, threads: 2}, "poisson": {rate: 10000, flows: 3, threads: 2, poisson: true}} {
		all := 0
		for i, mine := range []int{2, 1} {
			a := newArrivals(l, i, mine, 0)
			times := make([]int64, 1)
			for a.fill(times); times[0] < time.Second.Nanoseconds(); a.fill(times) {
				all++
			}
		}
		if slack := map[bool]int{false: 2, true: 800}[l.poisson]; all < 10000-slack || all > 10000+slack { // 8 standard deviations
			t.Errorf("%s: %d arrivals in 1 s at 10000/s", name, all)
		}
	}
}

// TestLagIsCountedApart gives a tally one request that left 30 ms late and was
// answered 10 ms after that.
func TestLagIsCountedApart(t *testing.T) {
	const ms = int64(time.Millisecond)
	tl := newTally(load{rate: 1}, plan{from: 0, to: 100 * ms})
	tl.note(&request{intended: 20 * ms, sent: 50 * ms}, 60*ms, answered)
	tl.note(&request{intended: 100 * ms, sent: 100 * ms}, 101*ms, answered) // after the window
	tl.note(&request{intended: 30 * ms}, 31*ms, refused)
	tl.flush(102 * ms)
	tl.unanswered(&request{intended: 40 * ms, sent: 50 * ms, state: open}, 1040*ms, true)
	tl.unanswered(&request{intended: 50 * ms, state: due}, 1050*ms, true)
	o := sum([]*tally{tl})
	intended, actual := o.latencies["intended"], o.latencies["actual"]
	near := func(got float64, ms int64) bool { want := float64(ms) / 1e3; return got > want*0.99 && got < want*1.01 }
	if !near(intended.Min, 40) || !near(actual.Min, 10) || !near(o.lag.Max, 30) {
		t.Errorf("intended %+v, actual %+v, lag %+v", intended, actual, o.lag)
	}
	if o.answered != 1 || o.refused != 1 || o.lost != 2 || intended.Count != 3 || !near(intended.Max, 1000) || actual.Count != 2 || o.lag.Count != 2 {
		t.Errorf("%+v", o)
	}
}

// TestAnAnswerThatIsLateByFarIsNotCorrupt: of a path that takes 3 s, and a rate of 1000 a second each waited for 0.1 s, all answers were told as
// corrupt, and no request as answered: 512 were kept in mind.
func TestAnAnswerThatIsLateByFarIsNotCorrupt(t *testing.T) {
	l := load{shape: shape{message: 8, response: 8}, udp: true, rate: 1000, wait: 100 * time.Millisecond, flows: 1, threads: 1, outstanding: 200}
	limit, size := l.remembered()
	o := newOutstanding(limit, size)
	const ms = int64(time.Millisecond)
	ask := func(at int64) {
		for o.giveUp(at-l.wait.Nanoseconds()) != nil {
		}
		if !o.ask(at) {
			t.Fatalf("at %d ms no more can be asked", at/ms)
		}
	}
	for i := range int64(3000) {
		ask(i * ms)
	}
	if r, was := o.answerNumbered(0, ^uint64(0)); was != givenUp || r.intended != 0 {
		t.Errorf("after 3 s a request is %d", was)
	}
	for i := int64(3000); i < 100_000; i++ {
		ask(i * ms)
	}
	if r, was := o.answerNumbered(1, ^uint64(0)); r != nil || was != forgotten {
		t.Errorf("after 100 s a request is %d", was)
	}
	if _, was := o.answerNumbered(100_000, ^uint64(0)); was != unused {
		t.Errorf("one that was never asked is %d", was)
	}
	tally := newTally(l, plan{to: 1})
	if tally.stray(0, forgotten); tally.corrupt+tally.duplicate != 0 {
		t.Errorf("%d corrupt and %d duplicate answers to a request that is forgotten", tally.corrupt, tally.duplicate)
	}
	l.rate, l.flows = maxRate, 1
	if _, size := l.remembered(); size > l.outstanding+int(1.5*l.rate*l.wait.Seconds()) {
		t.Errorf("%d requests are kept in mind at the highest rate", size)
	}
}
