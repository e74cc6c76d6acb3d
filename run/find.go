package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/search"
)

// A search's trials, and the loads that it has by default.
const (
	searchWarmUp = 200 * time.Millisecond
	flatOut      = 500 * time.Millisecond // in which the generator shows what it reaches
	latencyTime  = time.Second
	latencies    = 3      // loads at which latency is measured
	lowestLoad   = 1e-4   // of the largest
	probeRate    = 1000.0 // requests per second beside the load
	besideKind   = "ping"
	// searchAttempts is how often a trial is tried until it counts. A search ends with one that never does, after dozens that did: on a machine
	// where every second trial is disturbed, three tries would end most searches.
	searchAttempts = 10
)

// searchGoals are a find's goals.
func searchGoals(f result.Find) []result.SearchGoal {
	var goals []result.SearchGoal
	for _, loss := range f.Losses {
		goals = append(goals, search.GoalOf(f.Method, loss))
	}
	return goals
}

// checkFind refuses what a cell cannot be searched for, and fills its unit and budget in.
func (p Plan) checkFind(cell scenario.Cell) (*result.Find, error) {
	if cell.Find == nil {
		return nil, nil
	}
	f := *cell.Find
	options := p.Loads[cell.Traffic]
	if units := search.Units(options); f.Unit == "" && len(units) > 0 {
		f.Unit = units[0]
	}
	if err := search.CheckUnit(cell.Traffic, options, f.Unit); err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	if name := search.Rated(cell.Load); name != "" {
		return nil, fmt.Errorf("find: the traffic's %s is what is searched for; leave it out, or bound it by `max`", name)
	}
	if f.BudgetSeconds == 0 && f.Method == result.MethodMLR {
		f.BudgetSeconds = search.DefaultBudget
	}
	most := max(f.Max, 2*f.Min, 1)
	if err := searchConfig(f, most).Check(); err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	return &f, nil
}

func searchConfig(f result.Find, most float64) search.Config {
	least := f.Min
	if least == 0 {
		least = most * lowestLoad
	}
	return search.Config{Method: f.Method, Unit: f.Unit, MinLoad: least, MaxLoad: most, Goals: searchGoals(f), Budget: f.BudgetSeconds}
}

// blockRatios are the ratios that blocks make more exact, those of tried suspects among them: those of found rates are
// known, or not, before them.
func (p Plan) blockRatios() []result.Ratio {
	return slices.DeleteFunc(slices.Concat(p.Ratios, p.whyRatios()), func(r result.Ratio) bool { return r.Metric == result.FoundRate })
}

// checkFound refuses a ratio, or a sentence, about rates that nobody searches for.
func (p Plan) checkFound() error {
	for _, r := range p.Suite.AllRatios() {
		for _, name := range []string{r.Over, r.Under} {
			if cell, ok := p.Suite.Cell(name); ok && r.Metric == result.FoundRate && cell.Find == nil && cell.Published[r.Metric] == 0 {
				return fmt.Errorf("%s: %s: the cell %s has no `find` in its traffic; say `find: {loss: [0.5%%]}` there", p.Suite.File, r.Short(), name)
			}
		}
	}
	return nil
}

// searchTime is about what the cells' searches may take, latencies included: never so much that
// nothing is left for blocks.
func (p Plan) searchTime(left time.Duration) time.Duration {
	const most = 0.7
	sum := time.Duration(0)
	for _, cell := range p.Runnable() {
		if f := cell.Record.Find; f != nil {
			sum += time.Duration(f.BudgetSeconds*float64(time.Second)) + latenciesTime()
		}
	}
	return min(sum, time.Duration(most*float64(left)))
}

// latenciesTime is what the latencies of one cell take.
func latenciesTime() time.Duration {
	return latencies * (searchWarmUp + latencyTime + trialOverhead + startDelay)
}

// find searches the cells that ask for it, and gives each the rate that it found: the blocks
// measure it there. A cell for which nothing was found is left out of them.
func (c *Conductor) find(ctx context.Context, cells []PlannedCell) ([]PlannedCell, error) {
	searches := 0
	for _, cell := range cells {
		if cell.Record.Find != nil {
			searches++
		}
	}
	var standing []PlannedCell
	for _, cell := range cells {
		if cell.Record.Find == nil {
			standing = append(standing, cell)
			continue
		}
		s := c.findOne(ctx, cell, c.searchBudget(cells, searches))
		searches--
		if err := c.stop(ctx, cell); err != nil { // its workers hold what trials left for each other
			return nil, err
		}
		if err := c.Out.Search(s); err != nil {
			return nil, err
		}
		if load := foundLoad(s); load > 0 {
			cell.Record.Load = search.Paced(cell.Record.Load, s.Unit, load, len(cell.Record.Pairs))
			standing = append(standing, cell)
		} else {
			c.Progress.Say(fmt.Sprintf("cell %s: %s: it is left out from here on", cell.Record.Name, notFound(s)))
		}
	}
	return standing, nil
}

// foundLoad is the load that met the first goal; where none was kept long enough, what the path surely carried.
func foundLoad(s result.Search) float64 {
	if len(s.Found) == 0 {
		return 0
	}
	first := s.Found[0]
	switch {
	case first.LowerBound > 0 || !first.Rate.Known():
		return first.LowerBound
	case first.Rate.Low != nil:
		return *first.Rate.Low
	case first.UpperBound == 0:
		return first.Rate.Mean
	}
	return 0
}

// notFound says why there is no load to measure a cell at.
func notFound(s result.Search) string {
	if len(s.Found) > 0 && s.Found[0].Limit.Verdict == result.GeneratorLimited {
		return s.Found[0].Limit.Says
	}
	return "no load met the first goal"
}

// searchBudget is what the next of so many searches may take: its share of what the least
// number of blocks leaves.
func (c *Conductor) searchBudget(cells []PlannedCell, searches int) time.Duration {
	spare := c.left() - time.Duration(c.Plan.Times.MinimumBlocks)*blockTime(c.Plan.Times, cells)
	return max(0, spare/time.Duration(searches)-latenciesTime())
}

func (c *Conductor) findOne(ctx context.Context, cell PlannedCell, budget time.Duration) result.Search {
	f := *cell.Record.Find
	if f.BudgetSeconds == 0 || f.BudgetSeconds > budget.Seconds() {
		f.BudgetSeconds = max(budget.Seconds(), time.Millisecond.Seconds())
	}
	s := result.Search{Cell: cell.Record.Name, Method: f.Method, Unit: f.Unit, Ended: result.SearchFailed}
	most, generator := f.Max, 0.0
	if most == 0 {
		reached, err := c.reach(ctx, cell, f.Unit)
		if err != nil {
			s.Error = err.Error()
			c.Progress.Say(fmt.Sprintf("cell %s: what its generator reaches is not known: %v", s.Cell, err))
			return s
		}
		most, generator = reached, reached
	}
	config := searchConfig(f, most)
	config.Generator = generator
	if f.Unit == result.PacketsPerSecond { // in which generators are calibrated
		config.Alone = c.together(cell)
	}
	config.Observe = func(t result.SearchTrial) { c.Progress.Say("  " + s.Cell + ": " + t.Words(f.Unit)) }
	found, err := search.Run(ctx, config, func(ctx context.Context, seconds, load float64) (search.Measured, error) {
		return c.searchTrial(ctx, cell, f.Unit, seconds, load)
	})
	found.Cell, found.Unit = s.Cell, f.Unit
	if err != nil {
		found.Ended, found.Error = result.SearchFailed, err.Error()
		c.Progress.Say(fmt.Sprintf("cell %s: the search ended: %v", s.Cell, err))
	} else if ctx.Err() == nil {
		found.Latencies = search.Latencies(ctx, found, func(ctx context.Context, load float64) (map[string]result.Figure, float64, error) {
			return c.latencyAt(ctx, cell, f.Unit, load)
		})
	}
	return found
}

// reach is what a cell's generator sends as fast as it goes, per second. A trial that does not count, for its receiver's sake, tells that, too.
func (c *Conductor) reach(ctx context.Context, cell PlannedCell, unit string) (best float64, err error) {
	cell.Record.Load = search.Paced(cell.Record.Load, unit, 0, len(cell.Record.Pairs))
	_, err = c.repeated(ctx, cell, flatOut.Seconds(), maxAttempts, func(t result.Trial) {
		if m := search.Counted(unit, t.Pairs); m.Sent > 0 && sendersKept(t) {
			best = max(best, m.Sent/m.Seconds)
		}
	})
	var none uncounted
	switch {
	case err != nil && !(errors.As(err, &none) && best > 0):
		return 0, err
	case best == 0:
		return 0, errors.New("the generator sent nothing")
	}
	return best, nil
}

// sendersKept reports whether all that sent did so in the window that was asked for.
func sendersKept(t result.Trial) bool {
	for _, p := range t.Pairs {
		for _, way := range p.Ways() {
			if way.Sender.Error != "" || !isWindow(t, way.Sender.WindowSeconds) {
				return false
			}
		}
	}
	return len(t.Pairs) > 0
}

// searchTrial measures a cell at a load. A trial that something spoils is
// repeated.
func (c *Conductor) searchTrial(ctx context.Context, cell PlannedCell, unit string, seconds, load float64) (search.Measured, error) {
	began := c.Clock.Now()
	cell.Record.Load = search.Paced(cell.Record.Load, unit, load, len(cell.Record.Pairs))
	t, err := c.alone(ctx, cell, seconds, searchAttempts)
	if err != nil {
		return search.Measured{}, err
	}
	m := search.Counted(unit, t.Pairs)
	m.Spent = c.Clock.Now().Sub(began).Seconds()
	return m, nil
}

// alone is one trial outside of blocks, of a length of its own. One that does not count is repeated so often, while there is time.
func (c *Conductor) alone(ctx context.Context, cell PlannedCell, seconds float64, attempts int) (result.Trial, error) {
	return c.repeated(ctx, cell, seconds, attempts, func(result.Trial) {})
}

// uncounted is the error of trials none of which counted.
type uncounted struct {
	trials int
	last   string // why it did not
}

func (u uncounted) Error() string {
	return fmt.Sprintf("%d trials did not count; the last: %s", u.trials, u.last)
}

// repeated is alone, and shows every trial, also those that do not count.
func (c *Conductor) repeated(ctx context.Context, cell PlannedCell, seconds float64, attempts int, show func(result.Trial)) (t result.Trial, err error) {
	for attempt := 1; ; attempt++ {
		t, err = c.trial(ctx, cell, result.Trial{WarmupSeconds: searchWarmUp.Seconds(), WindowSeconds: seconds})
		if err != nil || ctx.Err() != nil {
			return t, errors.Join(err, ctx.Err())
		}
		show(t)
		switch {
		case t.Excluded == "":
			return t, nil
		case attempt == attempts || c.left()+c.grace(0) <= 0:
			return t, uncounted{attempt, t.Excluded}
		}
	}
}

// latencyAt measures latency at a load, by the cell's own probe beside it, or by requests.
func (c *Conductor) latencyAt(ctx context.Context, cell PlannedCell, unit string, load float64) (map[string]result.Figure, float64, error) {
	cell.Record.Load = search.Paced(cell.Record.Load, unit, load, len(cell.Record.Pairs))
	if cell.Record.Beside == "" {
		if len(cell.Laid.Graph.Ports) > 0 { // no request could go beside frames there
			return c.framesAt(ctx, cell, unit, load, latencyTime)
		}
		options, err := result.Fill(c.Plan.Loads[besideKind], result.Options{"protocol": "udp", "rate": probeRate})
		if err != nil {
			return nil, 0, err
		}
		cell.Record.Beside, cell.Record.BesideLoad = besideKind, options
	}
	t, err := c.alone(ctx, cell, latencyTime.Seconds(), searchAttempts)
	if err != nil {
		return nil, 0, err
	}
	m := search.Counted(unit, t.Pairs)
	quantiles, err := search.QuantilesBeside(t)
	if err != nil {
		return nil, 0, fmt.Errorf("the %s beside the load: %w", cell.Record.Beside, err)
	}
	return quantiles, 1 - m.Received/m.Sent, nil
}
