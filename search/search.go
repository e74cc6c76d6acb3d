// Package search finds the highest rate that a path carries at an acceptable
// loss. It is pure: traffic comes in by one function, and time is what that
// function says.
//
// Three methods: MLRsearch (draft-ietf-bmwg-mlrsearch-15) with several goals at
// once and trials that grow longer (controller.go); the binary search of RFC 2544,
// section 26.1, as a strict mode; and that with loss verification, ETSI GS NFV-TST
// 009, clause 12.3.3 (bisect.go).
//
// The draft's bounds say which loads met a goal. Where trials contradict each
// other, bounds alone are one draw of the noise, so the rate that is stated has an
// interval of its own (conclude.go), and two modes or a drift are said as doubts.
package search

import (
	"context"
	"errors"
	"fmt"
	"math"

	"windtunnel/result"
)

// Measure is one trial: traffic at a load, for so many seconds. Load is in any unit
// per second, sent and received count that unit.
type Measure func(ctx context.Context, seconds, load float64) (Measured, error)

// Measured is what came of a trial.
type Measured struct {
	Sent, Received float64
	Queued         float64 // of what was received: by how much a queue grew meanwhile; 0 too where that is not seen
	Grain          float64 // one packet: counts are no finer
	Seconds        float64 // really taken: the trial's effective duration; 0: as asked
	Spent          float64 // with everything around the trial; 0: Seconds
	Waited         float64 // share of the time in which the generator's threads could run and had no CPU, the kernel's packet work aside
	Limit          string  // result.PathLimited and its like, where the ends can tell
}

// Config is what to search for.
type Config struct {
	Method           string // result.MethodMLR and its like
	Unit             string // of loads, for words: result.BitsPerSecond and its like; "": any
	MinLoad, MaxLoad float64
	Goals            []result.SearchGoal
	Budget           float64                  // seconds, by what Measured.Spent adds up to; 0: none
	Generator        float64                  // what the generator reaches, where that is what set MaxLoad; 0: it is not
	Alone            float64                  // what it reaches without a path; 0: not known
	Observe          func(result.SearchTrial) // told of each trial; may be nil
}

// load writes one.
func (c Config) load(perSecond float64) string {
	if c.Unit == "" {
		return fmt.Sprintf("%.4g per second", perSecond)
	}
	return result.FormatLoad(c.Unit, perSecond)
}

// shortBy is the share of a load that may stay unsent: more, and the trial was at
// another load than it was asked for. Rates are in terms of what was offered, so that they are
// finer than this.
const shortBy = 0.01

// asAsked is how far a trial's duration may be off and still count as what was asked
// for: sums of durations would else miss a goal's by a clock's tick.
const asAsked = 0.01

// Durations says how effective durations come about, as the draft wants it told.
const Durations = "as asked for; the window that was really taken where it differs by more than 1 %"

// QueuedCount says what becomes of what a queue hides: a path takes in more than it gives out
// for as long as it has room, and trials of half a second see no loss then. RFC 2544's and TST009's
// trials are long, and counted by the letter.
const QueuedCount = "what a growing queue took in beyond what it gave out counts as lost"

// most bounds the number of trials, so that no search goes on for ever, whatever
// the measurer says.
const most = 10_000

// Run searches until the goals are met, the budget or the context ends, or the
// measurer fails. In any case the search holds the best answer so far. The error is the
// configuration's or the measurer's.
func Run(ctx context.Context, c Config, measure Measure) (result.Search, error) {
	if err := c.Check(); err != nil {
		return result.Search{}, err
	}
	b := &bench{ctx: ctx, Config: c, measure: measure, highest: c.MaxLoad, generator: c.Generator}
	var err error
	if c.Method == result.MethodMLR {
		err = b.control()
	} else {
		err = b.bisect(c.Goals[0])
	}
	s := b.conclude()
	switch {
	case err == nil:
		s.Ended = result.SearchGoals
	case errors.Is(err, errBudget):
		s.Ended, err = result.SearchBudget, nil
	case ctx.Err() != nil:
		s.Ended, err = result.SearchInterrupted, nil
	default:
		s.Ended, s.Error = result.SearchFailed, err.Error()
	}
	return s, err
}

// bench is a search under way.
type bench struct {
	Config
	ctx       context.Context
	measure   Measure
	trials    []result.SearchTrial
	spent     float64
	highest   float64 // load: the maximum, or what the generator reaches
	generator float64 // what it reached when asked for more; 0: it kept up
	best      float64 // what it sent at most where it fell short
	fell      bool    // the generator did not keep a load
	step      float64 // by what share the load was lowered then; 0: not yet
	above     float64 // a load above the limit, where trials are compared; 0: none yet
	bent      bool    // what arrives in trials that lose is not the path's limit
}

var errBudget = errors.New("the budget ended")

// trial measures once and keeps the result. An unusable one is kept too, and
// counts for nothing.
func (b *bench) trial(seconds, load float64) (result.SearchTrial, error) {
	if err := b.mayMeasure(seconds); err != nil {
		return result.SearchTrial{}, err
	}
	m, err := b.measure(b.ctx, seconds, load)
	if err != nil {
		return result.SearchTrial{}, fmt.Errorf("a trial of %g s at %s: %w", seconds, b.load(load), err)
	}
	if !(m.Sent > 0 && m.Received >= 0 && m.Queued >= 0 && m.Seconds >= 0) {
		return result.SearchTrial{}, fmt.Errorf("a trial of %g s at %s: %g sent, %g received, %g s taken: give a larger minimum load or longer trials",
			seconds, b.load(load), m.Sent, m.Received, m.Seconds)
	}
	if m.Seconds == 0 {
		m.Seconds = seconds
	}
	if b.Method != result.MethodMLR {
		m.Queued = 0
	}
	t := b.weigh(seconds, load, m)
	if b.Method == result.MethodMLR && t.Unusable != "" {
		b.reached(t.OfferedLoad)
		if !b.disturbed(t) {
			t = fallenShort(t)
		}
	}
	b.trials = append(b.trials, t)
	b.spent += max(m.Spent, m.Seconds)
	if b.Observe != nil {
		b.Observe(t)
	}
	return t, nil
}

func (b *bench) mayMeasure(seconds float64) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if len(b.trials) >= most {
		return errBudget
	}
	around := 0.0 // the mean of what trials took beside their durations
	if n := float64(len(b.trials)); n > 0 {
		taken := 0.0
		for _, t := range b.trials {
			taken += t.EffectiveSeconds
		}
		around = (b.spent - taken) / n
	}
	if b.Budget > 0 && b.spent+seconds+around > b.Budget*(1+1e-9) {
		return errBudget
	}
	return nil
}

// weigh makes a trial of what was counted. What a path pushed back was lost by it
// (the draft, section 4.7.1, turns what was not offered into loss); for what a
// generator did not manage, see fallenShort. A receiver that loses what comes holds nobody up.
func (c Config) weigh(seconds, load float64, m Measured) result.SearchTrial {
	t := result.SearchTrial{Load: load, Seconds: seconds, EffectiveSeconds: m.Seconds,
		Sent: m.Sent, Received: min(m.Received, m.Sent), Queued: min(m.Queued, m.Received, m.Sent), Waited: m.Waited, Limit: m.Limit}
	if math.Abs(m.Seconds-seconds) <= asAsked*seconds {
		t.EffectiveSeconds = seconds
	}
	expected := m.Sent
	t.OfferedLoad = m.Sent / m.Seconds
	intended := load * m.Seconds
	switch {
	case m.Sent >= intended-2*m.Grain:
	case m.Limit == result.PathLimited:
		expected, t.OfferedLoad = intended, load
	case m.Sent < (1-shortBy)*intended-2*m.Grain:
		t.Unusable = fmt.Sprintf("the generator sent %s of the %s asked for", c.load(m.Sent/m.Seconds), c.load(load))
	}
	came := t.Received - t.Queued
	t.LossRatio = 1 - came/expected
	t.ForwardingRate = load * came / expected
	return t
}

const (
	// tries is how often a generator that falls short is asked again: another program may have had its CPU. One that
	// has fallen short before is asked less often.
	tries, triesAgain = 4, 2
	// largestStep is the most by which a load is lowered at a time that a generator does not keep.
	largestStep = 0.25
)

// offer measures at a load, in the strict searches. Where the generator falls short again and again, there is no
// testing above the best that it reached, and the load that was measured is that. What it reached is not what it keeps where
// the path slows it down, as one does that works on its CPU: so each step down is twice as large as the one before.
func (b *bench) offer(seconds, load float64) (result.SearchTrial, error) {
	for {
		load = min(load, b.highest)
		reached, asked := 0.0, tries
		if b.fell {
			asked = triesAgain
		}
		for range asked {
			t, err := b.trial(seconds, load)
			if err != nil || t.Unusable == "" {
				return t, err
			}
			reached = max(reached, t.OfferedLoad)
		}
		if !b.fell {
			b.fell, b.generator = true, 0 // what was known before the trials is not what it keeps
		}
		b.generator = max(b.generator, reached)
		b.step = min(max(shortBy, 2*b.step), largestStep)
		b.highest = min(reached, b.highest*(1-b.step))
		if b.highest < b.MinLoad {
			return result.SearchTrial{}, fmt.Errorf("the generator does not even reach the minimum load, %s: it sent %s", b.load(b.MinLoad), b.load(b.generator))
		}
	}
}

// Check refuses what cannot be searched for.
func (c Config) Check() error {
	switch {
	case !(c.MinLoad > 0) || !(c.MaxLoad > c.MinLoad) || math.IsInf(c.MaxLoad, 0):
		return fmt.Errorf("searching from %s to %s: the minimum load must be above 0 and below the maximum", c.load(c.MinLoad), c.load(c.MaxLoad))
	case len(c.Goals) == 0:
		return errors.New("a search needs a goal")
	case c.Method != result.MethodMLR && c.Method != result.MethodRFC2544 && c.Method != result.MethodTST009:
		return fmt.Errorf("%s", result.UnknownWord("method of search", c.Method, Methods()))
	case c.Method != result.MethodMLR && len(c.Goals) > 1:
		return fmt.Errorf("%s has one goal, here are %d: several at once are mlrsearch's", c.Method, len(c.Goals))
	case c.Budget < 0:
		return fmt.Errorf("a budget of %g s is none", c.Budget)
	}
	for i, g := range c.Goals {
		err := checkGoal(g)
		if err == nil {
			err = checkInterval(c.Method, g)
		}
		if err != nil {
			return fmt.Errorf("goal %d: %w", i+1, err)
		}
		for _, other := range c.Goals[:i] {
			if other == g {
				return fmt.Errorf("goal %d: a loss of %g %% is asked for twice", i+1, 100*g.LossRatio)
			}
		}
	}
	return nil
}
