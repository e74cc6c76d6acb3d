package oneoff

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/search"
	"windtunnel/traffic"
)

// SearchConfig is a search for the highest rates from here to a receiver. Of the
// SendConfig, Window and Interval are the search's own.
type SearchConfig struct {
	SendConfig
	Unit        string // result.BitsPerSecond, result.PacketsPerSecond; "": the kind's first
	Method      string
	Goals       []result.SearchGoal
	Min, Max    float64       // loads; 0: chosen, what the generator reaches flat out
	Budget      time.Duration // 0: none
	NoLatencies bool
}

// SearchShow is told how a search goes; either may be nil.
type SearchShow struct {
	Say   func(line string)
	Trial func(unit string, t result.SearchTrial)
}

const (
	// lowest is the smallest load by default, as a share of the largest.
	lowest = 1e-4
	// flatOut is how long the generator shows what it reaches, and latencies are measured.
	flatOut = time.Second / 2
	// fewest packets of a shortest trial let a loss be seen at all.
	fewest = 10
	// attempts is how often a trial is tried until it counts, as in suites.
	attempts = 10
	// silent of them may have brought the receiver nothing at all: on a path that carries nothing, more would only keep a user waiting.
	silent = 3
)

// Check refuses what can be refused before anything is sent, and fills in what is chosen.
func (c SearchConfig) Check() (SearchConfig, error) {
	c.Window, c.Interval = flatOut, 0
	kind, err := KindByName(c.Kind)
	if err != nil {
		return c, err
	}
	if units := search.Units(kind.Options()); c.Unit == "" && len(units) > 0 {
		c.Unit = units[0]
	}
	if err := search.CheckUnit(c.Kind, kind.Options(), c.Unit); err != nil {
		return c, err
	}
	if name := search.Rated(c.Load); name != "" {
		return c, fmt.Errorf("%s is what is searched for: leave it out, or bound it by the largest load", name)
	}
	tried := c.SendConfig // its trials have a rate, which some options are beside
	tried.Load = search.Paced(c.Load, c.Unit, 1, 1)
	if tried, err = tried.Check(); err != nil {
		return c, err
	}
	tried.Load = search.Unpaced(tried.Load)
	c.SendConfig = tried
	if len(c.Goals) == 0 {
		return c, errors.New("a search needs a goal: name a loss")
	}
	for _, load := range []float64{c.Min, c.Max} {
		if _, err := complete(kind, search.Paced(c.Load, c.Unit, load, 1)); err != nil {
			return c, err
		}
	}
	if first := c.first(); c.Budget > 0 && c.Budget.Seconds() < first {
		return c, fmt.Errorf("a budget of %s is shorter than the first trial of %g s: give more time, or a shorter first trial", c.Budget, first)
	}
	probe := c.search(max(c.Max, 2*c.Min, 1))
	if c.Min > 0 && c.Max > 0 && c.Min >= c.Max {
		probe.MaxLoad = c.Max
	}
	return c, probe.Check()
}

// search is the configuration of the search itself, up to a load.
func (c SearchConfig) search(most float64) search.Config {
	least := c.Min
	if least == 0 {
		least = max(most*lowest, min(c.least(), most/2))
	}
	return search.Config{Method: c.Method, Unit: c.Unit, MinLoad: least, MaxLoad: most, Goals: c.Goals, Budget: c.Budget.Seconds()}
}

// first is how long the shortest trial lasts, in seconds.
func (c SearchConfig) first() float64 {
	shortest := c.Goals[0].InitialTrialSeconds
	for _, g := range c.Goals {
		shortest = min(shortest, g.InitialTrialSeconds)
	}
	return shortest
}

// least is a load of a few packets in the shortest trial.
func (c SearchConfig) least() float64 {
	perSecond := fewest / c.first()
	if c.Unit == result.BitsPerSecond {
		perSecond *= 8 * max(1, c.Load.Float("message"), c.Load.Float("size"))
	}
	return perSecond
}

// Search searches. Where ctx ends early, or a trial fails, the search holds what there is.
func Search(ctx context.Context, config SearchConfig, show SearchShow) (result.Search, error) {
	config, err := config.Check()
	if err != nil {
		return result.Search{}, err
	}
	s := searching{config, show}
	if no := config.Calibrations.Unkept(); no != nil {
		s.say(no.Error() + "; the next search calibrates again")
	}
	most, generator := config.Max, 0.0
	if most == 0 {
		if most, err = s.flatOut(ctx); err != nil {
			return result.Search{}, err
		}
		generator = most
	}
	c := config.search(most)
	c.Generator = generator
	if show.Trial != nil {
		c.Observe = func(t result.SearchTrial) { show.Trial(config.Unit, t) }
	}
	found, err := search.Run(ctx, c, s.measure)
	found.Unit = config.Unit
	if err == nil && ctx.Err() == nil && !config.NoLatencies {
		found.Latencies = search.Latencies(ctx, found, s.latency)
	}
	return found, err
}

// searching is a search under way.
type searching struct {
	SearchConfig
	show SearchShow
}

func (s searching) say(line string) {
	if s.show.Say != nil {
		s.show.Say(line)
	}
}

// flatOut is what the generator reaches towards the receiver.
func (s searching) flatOut(ctx context.Context) (float64, error) {
	s.say("finding out how fast the generator goes")
	m, err := s.measure(ctx, flatOut.Seconds(), 0)
	switch {
	case err != nil:
		return 0, err
	case !(m.Sent > 0 && m.Seconds > 0):
		return 0, errors.New("the generator sent nothing as fast as it goes: name the largest load")
	}
	reached := m.Sent / m.Seconds
	if reached <= s.Min {
		return 0, fmt.Errorf("the generator reaches %s, which is not above the smallest load of %s: search from a lower one on",
			result.FormatLoad(s.Unit, reached), result.FormatLoad(s.Unit, s.Min))
	}
	return reached, nil
}

// measure is a trial. One in which a hypervisor took the CPUs of either host away is repeated.
func (s searching) measure(ctx context.Context, seconds, load float64) (m search.Measured, err error) {
	began := time.Now()
	pair, err := counting(func() (result.PairSample, error) {
		return s.send(ctx, time.Duration(seconds*float64(time.Second)), load, true)
	})
	m = search.Counted(s.Unit, []result.PairSample{pair})
	m.Spent = time.Since(began).Seconds()
	return m, err
}

// counting tries a trial until it counts.
func counting(trial func() (result.PairSample, error)) (result.PairSample, error) {
	why, nothing := "", 0
	for range attempts {
		pair, err := trial()
		if pair.Receiver.Error == traffic.ErrNothing.Error() { // as where a receiver had no CPU in a short one
			if nothing++; nothing < silent {
				continue
			}
		}
		if err != nil {
			return pair, err
		}
		if why = spoiled(pair); why == "" {
			return pair, nil
		}
	}
	return result.PairSample{}, fmt.Errorf("%d trials did not count; the last: %s", attempts, why)
}

func (s searching) send(ctx context.Context, window time.Duration, load float64, alone bool) (result.PairSample, error) {
	c := s.SendConfig
	c.Window, c.alone = window, alone
	c.Load = search.Paced(c.Load, s.Unit, load, 1)
	outcome, err := Send(ctx, c, Show{})
	if err == nil && outcome.Interrupted {
		err = ctx.Err()
	}
	return outcome.Pair, err
}

// latency is measured by requests beside the load, over UDP as the load is.
func (s searching) latency(ctx context.Context, load float64) (map[string]result.Figure, float64, error) {
	probe := s.SendConfig
	probe.Kind, probe.Window, probe.CPUs = "ping", 2*flatOut, nil
	probe.Load = result.Options{"protocol": "udp", "rate": 1000.0}
	probe.Calibrations = traffic.Calibrations{}
	var asked Outcome
	var failed error
	var both sync.WaitGroup
	both.Go(func() { asked, failed = Send(ctx, probe, Show{}) })
	beside, err := s.send(ctx, 2*flatOut, load, false)
	both.Wait()
	m := search.Counted(s.Unit, []result.PairSample{beside})
	switch {
	case err != nil:
		return nil, 0, err
	case failed != nil:
		return nil, 0, fmt.Errorf("the requests beside the load: %w", failed)
	}
	quantiles, err := search.QuantilesBeside(result.Trial{Pairs: []result.PairSample{{Beside: &result.Beside{Sender: asked.Pair.Sender}}}})
	if err != nil {
		return nil, 0, fmt.Errorf("the requests beside the load: %w", err)
	}
	return quantiles, 1 - m.Received/m.Sent, nil
}
