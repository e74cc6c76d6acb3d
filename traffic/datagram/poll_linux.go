package datagram

import (
	"math"

	"windtunnel/traffic"
)

const (
	// pollPairs are those of a trial's turns, 160 ms of the warm-up.
	pollPairs = 4
	// leastPollGain is how many times as much has to come to a thread that polls: less is not worth its CPU time, nor surely seen.
	leastPollGain = 1.05
	// mostPollGain is more than waiting less can bring: whoever shows it had no CPU while it slept.
	mostPollGain = 4
	// mostPollLoss is how much more of the datagrams may be lost while it polls: where more is, it keeps the stack's thread from the CPU.
	mostPollLoss = 0.02
)

// pollTrial finds out in the warm-up whether more comes to a thread that polls. The thread goes either way by turns, each as long as it
// takes between two decisions.
type pollTrial struct {
	traffic.Turns
	started bool // its first turn is under way, or has been
	over    bool
	polls   bool           // it has shown a gain
	missed  [2]turnNumbers // over the turns that slept, and that polled
	before  turnNumbers    // the flow's, up to the last turn
}

// turnNumbers are those of a flow: how many were expected, and have not come.
type turnNumbers struct{ expected, lost uint64 }

// add takes what was counted from one reading to another, of which the later may have fewer lost: some came late.
func (n *turnNumbers) add(from, to turnNumbers) {
	n.expected += to.expected - from.expected
	n.lost += to.lost - min(from.lost, to.lost)
}

func (n turnNumbers) share() float64 { return float64(n.lost) / float64(max(1, n.expected)) }

func (t *pollTrial) running() bool { return t.started && !t.over }

// end gives a trial up, as what has none.
func (t *pollTrial) end() { t.over = true }

// next takes what the last turn brought, in bytes per second, and the flow's numbers by its end, and tells whether the thread is to poll
// from now on. The first call's turn is nobody's.
func (t *pollTrial) next(rate float64, now turnNumbers) bool {
	before := t.before
	t.before = now
	switch {
	case t.over:
		return t.polls
	case !t.started:
		t.started = true
		return t.Other()
	case t.Other():
		t.missed[1].add(before, now)
	default:
		t.missed[0].add(before, now)
	}
	if t.Add(rate); !t.Over() {
		return t.Other()
	}
	t.over = true
	t.polls = t.gain() >= leastPollGain && t.missed[1].share() <= t.missed[0].share()+mostPollLoss
	return t.polls
}

// gain is 0 where next to nothing came to one that slept, too.
func (t *pollTrial) gain() float64 {
	if gain := t.Gain(); gain <= mostPollGain {
		return gain
	}
	return 0
}

// toPoll tells whether the thread is to poll until the next decision, where it may: what came was as fast as it goes, and the stack
// works beside it.
func (r *receiver) toPoll(may bool, now int64) bool {
	t, d := &r.calls.trial, &r.calls.doze
	switch r.config.Poll {
	case pollBusy:
		return may
	case pollAuto:
	default:
		return false
	}
	flow := r.inlets[0].only
	if !may || !r.alone() || flow == nil {
		if t.running() {
			t.end()
		}
		return false
	}
	if !t.over && !t.Other() && !d.few(r.config.Message) { // aggregates
		if t.started {
			t.end()
		}
		return false
	}
	elapsed := now - d.next + burstNS
	counts := flow.counts(true)
	polls := t.next(float64(d.bytes)*1e9/float64(max(1, elapsed)), turnNumbers{counts.Expected, counts.Lost})
	if t.over {
		r.gain.Store(math.Float64bits(t.gain()))
	}
	return polls
}

// alone tells whether nobody else's figures suffer where this thread keeps its CPU: this process may have others' tests.
func (r *receiver) alone() bool { return traffic.HotThreads() == 1 }

// newPollTrial is one that has no need to begin where it is not asked for, nor may where the machine has but one CPU, which everything
// else needs, too. It is the machine's that count, not those that this process may use.
func newPollTrial(c Config) pollTrial {
	return pollTrial{Turns: traffic.NewTurns(pollPairs), over: c.Poll != pollAuto || !severalCPUs()}
}

func severalCPUs() bool {
	cpus, err := traffic.Steal()
	return err == nil && len(cpus) > 1
}
