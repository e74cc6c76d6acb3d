package search

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"windtunnel/result"
)

// strict is a binary search between 1000 and 1e7 per second.
func strict(g result.SearchGoal, method string) Config {
	return Config{Method: method, MinLoad: 1000, MaxLoad: 1e7, Goals: []result.SearchGoal{g}}
}

func TestBisectionIsRFC2544(t *testing.T) {
	d, truth := sharp(1)
	s, err := Run(context.Background(), strict(Strict(0), result.MethodRFC2544), d.measure)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Found[0]
	if !r.Regular || r.LowerBound > truth || r.UpperBound <= truth || r.ConditionalThroughput != r.LowerBound {
		t.Errorf("%+v, the truth is %g", r, truth)
	}
	if first := s.Trials[0]; first.Load != 1e7 || first.Seconds != 60 {
		t.Errorf("the first trial was %+v", first)
	}
	want := int(math.Ceil(math.Log2(1e7 / (truth * r.LowerBound / truth * 0.005))))
	if n := len(s.Trials); n > want+1 {
		t.Errorf("%d trials, want %d at most", n, want+1)
	}
}

// TestWordsNameTheUnit: a rate that is told in words is one of bits or of packets, as its figure is.
func TestWordsNameTheUnit(t *testing.T) {
	for unit, want := range map[string][2]string{
		result.BitsPerSecond:    {"10Mbit/s met the goal", "searching from 10Mbit/s to 1kbit/s"},
		result.PacketsPerSecond: {"10M packets/s met the goal", "searching from 10M packets/s to 1k packets/s"},
		"":                      {"1e+07 per second met the goal", "searching from 1e+07 per second to 1000 per second"},
	} {
		c := strict(Strict(0), result.MethodRFC2544)
		c.Unit = unit
		s, err := Run(t.Context(), c, func(_ context.Context, seconds, load float64) (Measured, error) {
			return Measured{Sent: load * seconds, Received: load * seconds, Grain: 1, Seconds: seconds}, nil
		})
		if err != nil || !strings.HasPrefix(s.Found[0].Limit.Says, want[0]) {
			t.Errorf("%s: %q, %v; want %q", unit, s.Found[0].Limit.Says, err, want[0])
		}
		c.MinLoad, c.MaxLoad = c.MaxLoad, c.MinLoad
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want[1]) {
			t.Errorf("%s: %v; want %q", unit, err, want[1])
		}
	}
}

// TestLossVerificationRepeats has a device that loses in every other trial.
func TestLossVerificationRepeats(t *testing.T) {
	shaky := func(d *device, _ float64) float64 { // twice slower in odd trials
		if int(math.Round(d.now/60))%2 == 0 {
			return 5e5
		}
		return 1e6
	}
	find := func(g result.SearchGoal, method string) float64 {
		s, err := Run(context.Background(), strict(g, method), (&device{limit: shaky}).measure)
		if err != nil || !s.Found[0].Regular {
			t.Fatalf("%v, %+v", err, s.Found)
		}
		return s.Found[0].LowerBound
	}
	if got := find(Verified(0), result.MethodTST009); got < 0.99e6 || got > 1e6 {
		t.Errorf("verified: %g", got)
	}
	if got := find(Strict(0), result.MethodRFC2544); got > 0.99e6 {
		t.Errorf("not verified: %g", got)
	}
}

func TestAGeneratorIsNoPath(t *testing.T) {
	for _, method := range Methods() {
		d, truth := sharp(2)
		d.fastest = truth / 2
		c := strict(GoalOf(method, 0), method)
		s, err := Run(context.Background(), c, d.measure)
		if err != nil {
			t.Fatal(err)
		}
		r := s.Found[0]
		if r.Limit.Verdict != result.GeneratorLimited || r.UpperBound != 0 || r.Regular || r.Rate.High != nil {
			t.Errorf("%s: %+v", method, r)
		}
		if off := r.LowerBound/d.fastest - 1; off < -0.01 || off > 1e-5 {
			t.Errorf("%s: %g of the %g that the generator reaches", method, r.LowerBound, d.fastest)
		}
		if !doubts(s)["generator-limited"] {
			t.Errorf("%s: %v", method, s.Doubts)
		}
	}
}

// TestASlowedGeneratorIsSearched: a path that works on its sender's CPU leaves it a little short of whatever it is asked for above what it
// keeps. A search that only ever came down to what it reached would end with its budget before it kept anything.
func TestASlowedGeneratorIsSearched(t *testing.T) {
	const most, kept, short = 4e6, 2.2e6, 0.985
	c := twoGoals()
	c.MinLoad, c.MaxLoad, c.Budget = 100, most, 20
	s, err := Run(context.Background(), c, func(_ context.Context, seconds, load float64) (Measured, error) {
		m := Measured{Seconds: seconds, Sent: math.Round(load * seconds), Spent: seconds + 0.6}
		if load > kept {
			m.Sent = math.Round(load * short * seconds)
		}
		m.Received = m.Sent
		return m, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Found {
		if r.Limit.Verdict != result.GeneratorLimited || r.LowerBound < (1-largestStep)*kept || r.LowerBound > kept {
			t.Errorf("%+v", r)
		}
	}
}

// TestOneLuckyTrialSaysNothing: a generator that keeps no load, and a path that loses in nearly each trial.
func TestOneLuckyTrialSaysNothing(t *testing.T) {
	c := twoGoals()
	c.MinLoad, c.MaxLoad, c.Budget = 100, 4e6, 20
	trials := 0
	s, err := Run(context.Background(), c, func(_ context.Context, seconds, load float64) (Measured, error) {
		m := Measured{Seconds: seconds, Sent: math.Round(0.9 * load * seconds), Spent: seconds + 0.6}
		m.Received = math.Floor(m.Sent * 0.99)
		if trials++; trials == 3 {
			m.Received = m.Sent
		}
		return m, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Found {
		if r.Rate.Known() || r.Limit.Verdict != result.GeneratorLimited || strings.Contains(r.Limit.Says, "the path carries") {
			t.Errorf("%+v", r)
		}
	}
}

// TestAPathThatPushesBackIsThePath has a sender that is held up by what it sends into.
func TestAPathThatPushesBackIsThePath(t *testing.T) {
	d, truth := sharp(3)
	d.fastest, d.why = truth, result.PathLimited
	s, err := Run(context.Background(), twoGoals(), d.measure)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range s.Found {
		if want := of(truth, s.Goals[i].LossRatio); r.Limit.Verdict != result.PathLimited || math.Abs(r.Rate.Mean/want-1) > 0.005 {
			t.Errorf("%+v, the truth is %g", r, want)
		}
	}
}

func TestAReceiverIsNoPath(t *testing.T) {
	d, _ := sharp(4)
	measure := func(ctx context.Context, seconds, load float64) (Measured, error) {
		m, err := d.measure(ctx, seconds, load)
		if m.Received < m.Sent {
			m.Limit = result.ReceiverLimited
		}
		return m, err
	}
	s, err := Run(context.Background(), twoGoals(), measure)
	if err != nil || s.Found[0].Limit.Verdict != result.ReceiverLimited {
		t.Errorf("%+v, %v", s.Found, err)
	}
}

// TestAReceiverThatLosesPushesNothingBack: of a generator that had its CPU for a tenth of the time, and a receiver that lost 3 % of what came,
// a trial told 90.3 % lost.
func TestAReceiverThatLosesPushesNothingBack(t *testing.T) {
	c := twoGoals()
	got := c.weigh(0.5, 1e6, Measured{Seconds: 0.5, Sent: 50e3, Received: 48.5e3, Grain: 1, Limit: result.ReceiverLimited})
	if math.Abs(got.LossRatio-0.03) > 1e-9 || got.OfferedLoad != 100e3 || got.Unusable == "" {
		t.Errorf("%+v", got)
	}
}

func TestTheLargestLoadMayBeMet(t *testing.T) {
	d := &device{limit: func(*device, float64) float64 { return 1e9 }}
	s, err := Run(context.Background(), twoGoals(), d.measure)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Found {
		if r.Limit.Verdict != result.RateReached || r.LowerBound != 1e7 || r.Regular || r.ConditionalThroughput != 1e7 {
			t.Errorf("%+v", r)
		}
	}
}

func TestNoLoadMayBeMet(t *testing.T) {
	d := &device{limit: func(*device, float64) float64 { return 1e5 }, loss: func(float64) float64 { return 0.1 }}
	for _, method := range Methods() {
		c := strict(GoalOf(method, 0.005), method)
		s, err := Run(context.Background(), c, d.measure)
		r := s.Found[0]
		if err != nil || r.Regular || r.Rate.Known() || r.UpperBound > 1010 || !strings.Contains(r.Why, "no lower bound") {
			t.Errorf("%s: %+v, %v", method, r, err)
		}
	}
}

// TestPacketsThatGetLostAtAnyLoad: one in a thousand, so there is a rate for a loss of 0.5 %
// and none without loss.
func TestPacketsThatGetLostAtAnyLoad(t *testing.T) {
	truth := 1e6
	d := &device{limit: func(*device, float64) float64 { return truth },
		loss: func(overload float64) float64 { return 1 - 0.999*min(1, 1/overload) }}
	s, err := Run(context.Background(), twoGoals(), d.measure)
	if err != nil {
		t.Fatal(err)
	}
	// Below 1000 packets a trial none gets lost.
	if r := s.Found[0]; r.UpperBound > 10_000 {
		t.Errorf("without loss: %+v", r)
	}
	if in, wide := holds(s.Found[1].Rate, truth*0.999/0.995); !in || wide > 0.0051 {
		t.Errorf("with a loss of 0.5 %%: %+v", s.Found[1])
	}
}

func TestABudgetGivesTheBestAnswerSoFar(t *testing.T) {
	for _, budget := range []float64{0.1, 0.3, 1, 3, 5} {
		d, truth := sharp(5)
		c := twoGoals()
		c.Budget = budget
		s, err := Run(context.Background(), c, d.measure)
		if err != nil || s.Ended != result.SearchBudget || s.SpentSeconds > budget {
			t.Fatalf("%g s: ended by %s after %g s, %v", budget, s.Ended, s.SpentSeconds, err)
		}
		regular := 0
		for _, r := range s.Found {
			if r.Regular {
				regular++
			}
			if r.Regular != (r.Why == "") || r.LowerBound > truth*1.006 {
				t.Errorf("%g s: %+v, the truth is %g", budget, r, truth)
			}
		}
		if regular == len(s.Found) {
			t.Errorf("%g s: all is found, and yet the budget ended", budget)
		}
	}
}

// TestTimeAroundTrialsIsSpent: a measurer that needs half a second for each.
func TestTimeAroundTrialsIsSpent(t *testing.T) {
	d, _ := noisy(6)
	measure := func(ctx context.Context, seconds, load float64) (Measured, error) {
		m, err := d.measure(ctx, seconds, load)
		m.Spent = m.Seconds + 0.5
		return m, err
	}
	c := twoGoals()
	c.Budget = 10
	s, err := Run(context.Background(), c, measure)
	if err != nil || s.Ended != result.SearchBudget || s.SpentSeconds > 10 || s.TrafficSeconds > 6 {
		t.Errorf("ended by %s after %g s, %g of traffic, %v", s.Ended, s.SpentSeconds, s.TrafficSeconds, err)
	}
}

func TestASearchEndsWithItsContextAndItsMeasurer(t *testing.T) {
	d, _ := sharp(7)
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	s, err := Run(ctx, twoGoals(), func(ctx context.Context, seconds, load float64) (Measured, error) {
		if n++; n == 5 {
			cancel()
		}
		return d.measure(ctx, seconds, load)
	})
	if err != nil || s.Ended != result.SearchInterrupted || len(s.Trials) != 5 {
		t.Errorf("interrupted: %s, %d trials, %v", s.Ended, len(s.Trials), err)
	}
	broken := errors.New("the cable is out")
	s, err = Run(context.Background(), twoGoals(), func(context.Context, float64, float64) (Measured, error) { return Measured{}, broken })
	if !errors.Is(err, broken) || s.Ended != result.SearchFailed || len(s.Found) != 2 {
		t.Errorf("failed: %s, %v", s.Ended, err)
	}
	_, err = Run(context.Background(), twoGoals(), func(context.Context, float64, float64) (Measured, error) { return Measured{}, nil })
	if err == nil || !strings.Contains(err.Error(), "0 sent") {
		t.Errorf("nothing sent: %v", err)
	}
}

func TestRefusedConfigurations(t *testing.T) {
	for says, change := range map[string]func(*Config){
		"the minimum load":    func(c *Config) { c.MinLoad = 0 },
		"below the maximum":   func(c *Config) { c.MaxLoad = 50 },
		"needs a goal":        func(c *Config) { c.Goals = nil },
		"method of search":    func(c *Config) { c.Method = "guess" },
		"several at once":     func(c *Config) { c.Method = result.MethodRFC2544 },
		"asked for twice":     func(c *Config) { c.Goals[1] = c.Goals[0] },
		"a loss ratio of 1":   func(c *Config) { c.Goals[0].LossRatio = 1 },
		"an exceed ratio":     func(c *Config) { c.Goals[0].ExceedRatio = -1 },
		"a duration sum":      func(c *Config) { c.Goals[0].DurationSumSeconds = 0.1 },
		"no shorter than":     func(c *Config) { c.Goals[0].InitialTrialSeconds = 2 },
		"a width of 0":        func(c *Config) { c.Goals[0].Width = 0 },
		"an interval of -1 %": func(c *Config) { c.Goals[0].LargestIntervalPercent = -1 },
		"allow 0.2 % or more": func(c *Config) { c.Goals[1].LargestIntervalPercent = 0 },
		"to 0.1 %":            func(c *Config) { c.Goals[1].LargestIntervalPercent = 0.1 },
		"no effect on rfc2544": func(c *Config) {
			c.Method, c.Goals = result.MethodRFC2544, c.Goals[:1]
		},
		"repeats":  func(c *Config) { c.Goals[0].Repeats = -1 },
		"a budget": func(c *Config) { c.Budget = -1 },
	} {
		c := twoGoals()
		change(&c)
		if _, err := Run(context.Background(), c, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestLossesFarBelowTheModesDecide: a real path (64-byte frames over the vRouter on a busy virtual machine) that lost some at
// every load above a half of what it carried, of which two modes were seen. Those are no rate without loss.
func TestLossesFarBelowTheModesDecide(t *testing.T) {
	c := twoGoals()
	b := &bench{Config: c, ctx: context.Background()}
	for _, m := range [][4]float64{
		{796189, 0.25, 198207, 197400}, {772658, 0.25, 192157, 191679}, {727662, 0.25, 180902, 177462}, {645379, 0.25, 160197, 159733}, {507673, 0.25, 126347, 126347},
		{572399, 0.25, 141954, 130772}, {530870, 0.25, 131799, 131433}, {519142, 0.25, 129197, 129197}, {524973, 0.25, 130559, 128623}, {642061, 0.5, 319703, 317092},
		{642061, 0.5, 319715, 314807}, {642061, 0.5, 319105, 315389}, {642061, 0.5, 319230, 315528}, {519142, 0.5, 258353, 256131}, {519142, 0.5, 258716, 258053},
		{519142, 0.5, 258858, 258522}, {519142, 0.5, 258500, 258134}, {508862, 0.5, 252700, 249808}, {508862, 0.5, 253352, 239735}, {508862, 0.5, 253464, 251076},
		{508862, 0.5, 253803, 251713}, {488909, 0.5, 244070, 241913}, {488909, 0.5, 243793, 243497}, {488909, 0.5, 243479, 243304}, {488909, 0.5, 243361, 243057},
		{451320, 0.5, 224776, 224395},
	} {
		b.trials = append(b.trials, b.weigh(m[1], m[0], Measured{Seconds: m[1], Sent: m[2], Received: m[3], Grain: 1}))
	}
	for _, g := range c.Goals {
		if r := b.result(g, b.observe()); r.Rate.Known() && r.Rate.Mean > r.UpperBound {
			t.Errorf("a loss of %g: %+v, above %g, where it was missed by basis %s", g.LossRatio, r.Rate.Mean, r.UpperBound, r.Basis)
		}
	}
}
