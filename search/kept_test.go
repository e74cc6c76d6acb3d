package search

import (
	"context"
	"math"
	"testing"

	"windtunnel/result"
)

// sending is a generator and its path, which carries so much without loss, in half of the trials at least, and so much with a loss of 0.5 %;
// where it has no limit, what the generator reaches.
type sending struct {
	carried, some float64
	measure       func(seconds, load float64) Measured
}

// largest is the load that the generators below reach flat out.
const largest = 1e6

// generators fall short, each in a way of its own. Of each the searches are to be: whose the rate is, and how far off it is at most, in per cent,
// in the median search; how many rates of 20 searches for two goals may be no truth.
var generators = []struct {
	name    string
	verdict string
	off     float64
	untrue  int
	make    func(seed uint64) sending
}{
	{"short of any load by 5 %, a path of its own", result.PathLimited, 3, 1, func(seed uint64) sending {
		d, _ := sharp(seed)
		limit := largest * (0.1 + 0.5*d.random.Float64())
		return sending{limit, limit, func(seconds, load float64) Measured {
			return through(seconds, load*(1-0.05*math.Abs(d.random.NormFloat64())), limit)
		}}
	}},
	{"short of any load by 5 %, no limit", result.GeneratorLimited, 10, 1, func(seed uint64) sending {
		d, _ := sharp(seed)
		return sending{largest, largest, func(seconds, load float64) Measured {
			return through(seconds, min(load*(1-0.05*math.Abs(d.random.NormFloat64())), largest), math.Inf(1))
		}}
	}},
	{"short by 3 % at high loads, a path above", result.PathLimited, 0.5, 1, func(seed uint64) sending {
		d, _ := sharp(seed)
		kept := largest * (0.1 + 0.5*d.random.Float64())
		limit := 1.4 * kept
		return sending{limit, limit, func(seconds, load float64) Measured {
			if load > kept {
				load *= 0.97
			}
			return through(seconds, load, limit)
		}}
	}},
	{"short by 3 % at high loads, no limit", result.GeneratorLimited, 0.5, 0, func(seed uint64) sending {
		d, _ := sharp(seed)
		kept := largest * (0.1 + 0.5*d.random.Float64())
		return sending{0.97 * largest, 0.97 * largest, func(seconds, load float64) Measured {
			if load > kept {
				load *= 0.97
			}
			return through(seconds, load, math.Inf(1))
		}}
	}},
	{"a soft knee", result.GeneratorLimited, 1, 0, func(seed uint64) sending {
		d, _ := sharp(seed)
		knee := largest * (0.2 + 0.5*d.random.Float64())
		return sending{knee, knee, func(seconds, load float64) Measured {
			load *= math.Pow(1+math.Pow(load/knee, 8), -1./8)
			return through(seconds, load*(1-0.004*d.random.Float64()), math.Inf(1))
		}}
	}},
	{"by turns above a low load, lossy there", result.PathLimited, 0.5, 0, func(seed uint64) sending {
		d, _ := sharp(seed)
		kept := largest * 0.005 * math.Exp(4*d.random.Float64())
		return sending{kept, 0.995 * kept, func(seconds, load float64) Measured {
			limit := math.Inf(1)
			if load > kept {
				load *= 0.6 + 0.2*d.random.Float64()
				limit = load * (0.4 + 0.3*d.random.Float64())
			}
			return through(seconds, load, limit)
		}}
	}},
	{"by turns at any load", result.GeneratorLimited, 3, 1, func(seed uint64) sending {
		d, _ := sharp(seed)
		return sending{0.2 * largest, 0.2 * largest, func(seconds, load float64) Measured {
			return through(seconds, 0.2*load*math.Exp(0.03*d.random.NormFloat64()), math.Inf(1))
		}}
	}},
	{"by turns at any load, lossy above a low one", result.GeneratorLimited, 55, 1, func(seed uint64) sending {
		d, _ := sharp(seed)
		limit := largest * 0.005 * math.Exp(4*d.random.Float64())
		return sending{limit, limit, func(seconds, load float64) Measured {
			sent, now := load*(0.6+0.3*d.random.Float64()), math.Inf(1)
			if load > limit {
				now = sent * (0.4 + 0.3*d.random.Float64())
			}
			return through(seconds, sent, now)
		}}
	}},
	{"by turns and lossy in one trial of three", result.PathLimited, 0.5, 2, func(seed uint64) sending {
		d, _ := sharp(seed)
		limit := largest * (0.1 + 0.5*d.random.Float64())
		return sending{limit, limit, func(seconds, load float64) Measured {
			now := limit
			if d.random.Float64() < 0.33 {
				load *= 0.5 + 0.3*d.random.Float64()
				now = min(limit, load*(0.4+0.3*d.random.Float64()))
			}
			return through(seconds, load, now)
		}}
	}},
	{"lossy at any load", result.PathLimited, 40, 4, func(seed uint64) sending {
		d, _ := sharp(seed)
		half := largest * 0.02 * math.Exp(2*d.random.Float64())
		return sending{half, half * math.Log2(3), func(seconds, load float64) Measured {
			m := through(seconds, load, math.Inf(1))
			if d.random.Float64() > math.Exp2(-load/half) {
				m.Received = math.Floor(m.Sent * (1 - 0.02*d.random.Float64()))
			}
			return m
		}}
	}},
}

func through(seconds, sent, limit float64) Measured {
	m := Measured{Sent: math.Round(sent * seconds), Seconds: seconds, Spent: seconds + 0.23, Grain: 1}
	m.Received = min(m.Sent, math.Floor(limit*seconds))
	return m
}

// TestWhateverTheGeneratorDoesTheRateIsTrue: searches of half a minute say what the path carries where that shows, and else at least what it did.
func TestWhateverTheGeneratorDoesTheRateIsTrue(t *testing.T) {
	for _, g := range generators {
		tally := tallied{verdicts: map[string]int{}}
		for seed := range uint64(20) {
			tally.add(t, g.make(seed))
		}
		off := median(tally.off)
		t.Logf("%s: %d of 40 rates, %d untrue, off by %.3g %%, %.3g %% wide, %.0f trials in %.3g s, %v", g.name, len(tally.off), tally.untrue, off,
			median(tally.wide), median(tally.trials), median(tally.spent), tally.verdicts)
		if len(tally.off) < 36 || tally.untrue > g.untrue || math.Abs(off) > g.off || 2*tally.verdicts[g.verdict] < 40 {
			t.Errorf("%s: want %d untrue, off by %g %%, %s", g.name, g.untrue, g.off, g.verdict)
		}
	}
}

// tallied is what some searches found.
type tallied struct {
	off, wide, trials, spent []float64 // per cent, per cent, and a search's trials and seconds
	untrue                   int
	verdicts                 map[string]int
}

func (a *tallied) add(t *testing.T, s sending) {
	t.Helper()
	c := twoGoals()
	c.MinLoad, c.MaxLoad, c.Generator, c.Budget = largest/1e4, largest, largest, 30
	found, err := Run(context.Background(), c, func(_ context.Context, seconds, load float64) (Measured, error) { return s.measure(seconds, load), nil })
	if err != nil {
		t.Fatal(err)
	}
	a.trials, a.spent = append(a.trials, float64(len(found.Trials))), append(a.spent, found.SpentSeconds)
	for i, truth := range []float64{s.carried, s.some / (1 - found.Goals[1].LossRatio)} {
		r := found.Found[i]
		a.verdicts[r.Limit.Verdict]++
		if !r.Rate.Known() || r.Rate.Low == nil {
			continue
		}
		estimate := *r.Rate.Low
		if r.Rate.High != nil {
			estimate = r.Rate.Mean
			a.wide = append(a.wide, 100*(*r.Rate.High / *r.Rate.Low - 1))
		}
		a.off = append(a.off, 100*(estimate/truth-1))
		if *r.Rate.Low > 1.001*truth || r.Rate.High != nil && *r.Rate.High < 0.999*truth {
			a.untrue++
		}
	}
}

// TestAPathThatLosesALittleOfAnyLoadHasNoLimit: a search that came down took that for a drift, and said a limit and an interval far above loads that
// had missed the goal.
func TestAPathThatLosesALittleOfAnyLoadHasNoLimit(t *testing.T) {
	for seed := range uint64(20) {
		s := generators[len(generators)-1].make(seed)
		c := twoGoals()
		c.MinLoad, c.MaxLoad, c.Budget = largest/1e4, largest, 30
		found, err := Run(context.Background(), c, func(_ context.Context, seconds, load float64) (Measured, error) { return s.measure(seconds, load), nil })
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range found.Found {
			if r.Basis == result.BasisLimits || r.Basis == result.BasisModes || r.Rate.Known() && r.UpperBound > 0 && r.Rate.Mean > farAbove*r.UpperBound && r.Basis != result.BasisOutcomes {
				t.Errorf("seed %d, goal %d: %+v", seed, i, r)
			}
		}
		if said := doubts(found); said["drifting"] || said["bimodal"] {
			t.Errorf("seed %d: %v", seed, found.Doubts)
		}
	}
}
