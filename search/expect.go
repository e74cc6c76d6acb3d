package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"windtunnel/result"
)

// Varying is by how much a path's limit is taken to vary from trial to trial before anything is known of it, a standard
// deviation: what nodes simulated on a machine that others use have.
const Varying = 0.03

// Expected is what a search is likely to come to, of a path that forwards what it can and whose limit varies.
type Expected struct {
	Trials  int     // the median
	Seconds float64 // that it takes, the median
	// Percent is how far off the least exact goal's rate is at most, in nine of ten searches; infinite where fewer have a rate
	// for every goal.
	Percent float64
}

// So many synthetic paths are searched, of which that share may be off by more; and at which shares of the largest load their
// limits lie.
const (
	synthetic                = 20
	mayBeOff                 = 0.1
	lowestLimit, widestLimit = 0.1, 0.9
)

// Expect searches some synthetic paths, each trial of which takes so many seconds beside its traffic. The loads of c only say how far
// apart they are.
func Expect(c Config, around float64) Expected {
	c.MinLoad, c.MaxLoad = 1e9*c.MinLoad/c.MaxLoad, 1e9 // so large that no packet is half lost
	c.Generator, c.Alone, c.Observe = 0, 0, nil
	var trials, seconds, off []float64
	for seed := range uint64(synthetic) {
		random := rand.New(rand.NewPCG(seed, synthetic))
		limit := c.MaxLoad * lowestLimit * math.Pow(widestLimit/lowestLimit, random.Float64())
		s, err := Run(context.Background(), c, func(_ context.Context, window, load float64) (Measured, error) {
			sent := math.Round(load * window)
			now := limit * math.Exp(Varying*random.NormFloat64())
			return Measured{Sent: sent, Received: min(sent, math.Floor(now*window)), Seconds: window, Spent: window + around}, nil
		})
		if err != nil {
			return Expected{Percent: math.Inf(1)}
		}
		trials, seconds, off = append(trials, float64(len(s.Trials))), append(seconds, s.SpentSeconds), append(off, farthest(s, limit))
	}
	slices.Sort(off)
	return Expected{Trials: int(median(trials)), Seconds: median(seconds), Percent: 100 * off[int(synthetic*(1-mayBeOff))-1]}
}

// farthest is by what share the goals' rates are off at most, of a path with such a limit; infinite where one has none.
func farthest(s result.Search, limit float64) float64 {
	most := 0.0
	for i, r := range s.Found {
		if r.Rate.Low == nil || r.Rate.High == nil {
			return math.Inf(1)
		}
		most = max(most, math.Abs(r.Rate.Mean*(1-s.Goals[i].LossRatio)/limit-1))
	}
	return most
}
