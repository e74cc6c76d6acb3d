package search

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"windtunnel/result"
)

// slowed is a path that works on its generator's CPU: both come to another rate in each trial, and lose nothing.
func slowed(seed uint64) (*device, float64) {
	truth, random := capacity(seed)
	return &device{random: random, limit: func(*device, float64) float64 { return math.Inf(1) },
		reach: func(d *device) float64 { return truth * math.Exp(0.03*d.random.NormFloat64()) }}, truth
}

// around adds to each trial what it takes beside its traffic.
func around(d *device, seconds float64) Measure {
	return func(ctx context.Context, s, load float64) (Measured, error) {
		m, err := d.measure(ctx, s, load)
		m.Spent = m.Seconds + seconds
		return m, err
	}
}

// TestASlowedGeneratorHasAnInterval: the path carries the lower end of it or more, and nobody says that it carries no more.
func TestASlowedGeneratorHasAnInterval(t *testing.T) {
	in, known, widest := 0, 0, 0.0
	for seed := range uint64(seeds) {
		d, truth := slowed(seed)
		c := twoGoals()
		c.MinLoad, c.MaxLoad, c.Budget = truth/1e4, 1.05*truth, 30
		c.Generator, c.Alone = c.MaxLoad, 10*truth
		s, err := Run(context.Background(), c, around(d, 0.4))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range s.Found {
			if r.Limit.Verdict != result.GeneratorLimited || r.Regular || r.UpperBound != 0 || r.Rate.High != nil || !r.Rate.Known() || r.Reached == nil {
				t.Fatalf("seed %d, goal %d: %+v", seed, i, r)
			}
			known++
			held, wide := holds(*r.Reached, truth)
			if widest = max(widest, wide); held || *r.Rate.Low <= truth && wide == 0 {
				in++
			} else {
				t.Logf("seed %d: %g, at least %g, %s", seed, r.Reached.Mean/truth, *r.Rate.Low/truth, r.Basis)
			}
		}
	}
	t.Logf("in %d of %d, the widest is %.1f %%", in, known, 100*widest)
	if in < known*95/100 || widest > 0.2 {
		t.Errorf("what it reaches is in %d of %d intervals, the widest of which is %.1f %%", in, known, 100*widest)
	}
}

// TestAPathIsFoundBehindAGeneratorThatFallsShort: above the path's limit it reaches no load that it is asked for, and what it sends is too
// much all the same.
func TestAPathIsFoundBehindAGeneratorThatFallsShort(t *testing.T) {
	for seed := range uint64(seeds) {
		d, truth := sharp(seed)
		d.reach = func(d *device) float64 { return truth * (1.05 + 0.2*d.random.Float64()) }
		c := twoGoals()
		c.MaxLoad, c.Generator = 1.5*truth, 1.5*truth
		s, err := Run(context.Background(), c, around(d, 0.4))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range s.Found {
			if in, wide := holds(r.Rate, of(truth, s.Goals[i].LossRatio)); !in || wide > 0.0051 || r.Limit.Verdict != result.PathLimited || !r.Regular {
				t.Errorf("seed %d: %+v, the truth is %g", seed, r, of(truth, s.Goals[i].LossRatio))
			}
		}
	}
}

// TestADisturbedGeneratorIsAskedAgain: in every fifth trial another program has a third of its time.
func TestADisturbedGeneratorIsAskedAgain(t *testing.T) {
	found := 0
	for seed := range uint64(seeds) {
		d, truth := sharp(seed)
		measure := func(ctx context.Context, seconds, load float64) (Measured, error) {
			m, err := d.measure(ctx, seconds, load)
			if d.random.Float64() < 0.2 {
				m.Sent = math.Round(m.Sent * 0.67)
				m.Received = min(m.Received, m.Sent)
			}
			return m, err
		}
		c := twoGoals()
		c.MaxLoad = 3 * truth
		s, err := Run(context.Background(), c, measure)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range s.Found {
			if in, _ := holds(r.Rate, of(truth, s.Goals[i].LossRatio)); in && r.Limit.Verdict == result.PathLimited {
				found++
			} else if r.Limit.Verdict == result.PathLimited || r.Rate.Low != nil && *r.Rate.Low > 1.006*truth {
				t.Errorf("seed %d: %+v, the truth is %g", seed, r, truth)
			}
		}
	}
	t.Logf("%d of %d", found, 2*seeds)
	if found < 2*seeds*95/100 {
		t.Errorf("%d of %d were found", found, 2*seeds)
	}
}

// TestAGeneratorByTurnsIsMeasuredFlatOut: one that has its CPU for a fifth of the time sends a fifth of whatever it is asked for.
func TestAGeneratorByTurnsIsMeasuredFlatOut(t *testing.T) {
	c := twoGoals()
	c.MinLoad, c.MaxLoad, c.Budget = 100, 1e6, 20
	s, err := Run(context.Background(), c, func(_ context.Context, seconds, load float64) (Measured, error) {
		m := Measured{Seconds: seconds, Sent: math.Round(0.2 * load * seconds), Spent: seconds + 0.3}
		m.Received = m.Sent
		return m, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Found {
		if r.Limit.Verdict != result.GeneratorLimited || r.Rate.Low == nil || r.Rate.High != nil || *r.Rate.Low < 0.19e6 || *r.Rate.Low > 0.2e6 || r.Reached == nil || r.Reached.Low == nil {
			t.Errorf("%+v", r)
		}
	}
}

// TestWhoHeldTheGeneratorUp: that other programs had its CPU is said where most of the trials that fell short show it.
func TestWhoHeldTheGeneratorUp(t *testing.T) {
	for name, c := range map[string]struct {
		short, waited, lost float64
		says                bool
	}{
		"others":         {0.3, 0.3, 0, true},
		"half of it":     {0.3, 0.16, 0, true},
		"a path, too":    {0.3, 0.3, 0.4, true},
		"mostly its own": {0.3, 0.05, 0, false},
		"nobody":         {0.3, 0, 0, false},
	} {
		config := twoGoals()
		config.Budget = 20
		s, err := Run(context.Background(), config, func(_ context.Context, seconds, load float64) (Measured, error) {
			m := Measured{Seconds: seconds, Sent: math.Round((1 - c.short) * load * seconds), Spent: seconds + 0.3, Waited: c.waited}
			m.Received = m.Sent * (1 - c.lost)
			return m, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		says := s.Found[0].Limit.Says
		if strings.Contains(says, fmt.Sprintf("had no CPU, for %.0f %% of the time", 100*c.waited)) != c.says || s.Trials[0].Waited != c.waited {
			t.Errorf("%s: %q", name, says)
		}
	}
}

func TestMedianBounds(t *testing.T) {
	for n, want := range map[int][2]float64{6: {1, 6}, 9: {2, 8}, 12: {3, 10}, 20: {6, 15}} { // a table of the sign test's has these
		var values []float64
		for i := range n {
			values = append(values, float64(n-i))
		}
		if f := medianBounds(values); f.Low == nil || *f.Low != want[0] || *f.High != want[1] || f.Mean != float64(n+1)/2 {
			t.Errorf("%d values: %+v", n, f)
		}
	}
	if f := medianBounds([]float64{1, 2, 3, 4, 5}); f.Low != nil || f.Mean != 3 {
		t.Errorf("%+v", f)
	}
}
