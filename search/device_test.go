package search

import (
	"context"
	"math"
	"math/rand/v2"

	"windtunnel/result"
)

// device is a synthetic path, whose limit is known. Its clock is the traffic's time.
type device struct {
	random *rand.Rand
	now    float64
	// limit is what it forwards per second in a trial of so many seconds.
	limit func(d *device, seconds float64) float64
	// loss is the share that is lost of what is sent at so many times the limit;
	// nil: what is above it.
	loss func(overload float64) float64
	// fastest is what its generator reaches; 0: any rate.
	fastest float64
	reach   func(d *device) float64 // the same, in each trial; nil: fastest
	why     string                  // the generator's own verdict, where it falls short
	// erratic is by how much the generator varies below fastest, as a share.
	erratic float64
	// room is what the path's queue holds before it loses; empty at each trial's beginning.
	room float64
}

func (d *device) measure(_ context.Context, seconds, load float64) (Measured, error) {
	limit := d.limit(d, seconds)
	d.now += seconds
	m := Measured{Seconds: seconds}
	if d.reach != nil {
		load = min(load, d.reach(d))
	}
	if d.fastest > 0 && load > d.fastest {
		load, m.Limit = d.fastest*(1-d.erratic*d.random.Float64()), d.why
	}
	m.Sent = math.Round(load * seconds)
	if excess := m.Sent - limit*seconds; d.room > 0 && excess > 0 {
		m.Queued = min(excess, d.room)
		m.Received = m.Sent - math.Floor(excess-m.Queued)
	} else if d.loss != nil {
		m.Received = m.Sent - math.Floor(m.Sent*d.loss(load/limit))
	} else {
		m.Received = min(m.Sent, math.Floor(limit*seconds))
	}
	return m, nil
}

// slowly measures as a machine does that needs so many seconds around each trial.
func (d *device) slowly(around float64) Measure {
	return func(ctx context.Context, seconds, load float64) (Measured, error) {
		m, err := d.measure(ctx, seconds, load)
		m.Spent = m.Seconds + around
		return m, err
	}
}

// capacity is drawn for each seed, so that no load is met by chance.
func capacity(seed uint64) (truth float64, random *rand.Rand) {
	random = rand.New(rand.NewPCG(seed, 0x5ea7c4))
	return 1e5 * math.Exp(4*random.Float64()), random
}

func sharp(seed uint64) (*device, float64) {
	truth, random := capacity(seed)
	return &device{random: random, limit: func(*device, float64) float64 { return truth }}, truth
}

// soft loses more and more from its limit on, beginning with nothing.
func soft(seed uint64) (*device, float64) {
	d, truth := sharp(seed)
	d.loss = softLoss
	return d, truth
}

const softness = 0.5

func softLoss(overload float64) float64 {
	over := max(0, overload-1) / softness
	return min(1, over*over)
}

// noisy has another limit in each trial, whatever its length.
func noisy(seed uint64) (*device, float64) {
	truth, random := capacity(seed)
	return &device{random: random, limit: func(d *device, _ float64) float64 { return truth * math.Exp(0.03*d.random.NormFloat64()) }}, truth
}

// whitened has the noise of noisy in trials of a goal's length, and more in shorter ones.
func whitened(seed uint64) (*device, float64) {
	truth, random := capacity(seed)
	return &device{random: random, limit: func(d *device, seconds float64) float64 {
		return truth * math.Exp(0.03*math.Sqrt(finalTrial/seconds)*d.random.NormFloat64())
	}}, truth
}

const (
	slowTrials = 0.25
	slowFactor = 0.85
)

// bimodal is slow in a quarter of the trials, by 15 %.
func bimodal(seed uint64) (*device, float64) {
	truth, random := capacity(seed)
	return &device{random: random, limit: func(d *device, _ float64) float64 {
		limit := truth * math.Exp(0.003*d.random.NormFloat64())
		if d.random.Float64() < slowTrials {
			limit *= slowFactor
		}
		return limit
	}}, truth
}

const driftPerMinute = 0.1

// drifting loses 10 % a minute, and varies a little.
func drifting(seed uint64) (*device, float64) {
	truth, random := capacity(seed)
	return &device{random: random, limit: func(d *device, _ float64) float64 {
		return truth * (1 - driftPerMinute*d.now/60) * math.Exp(0.002*d.random.NormFloat64())
	}}, truth
}

// twoGoals is a search for no loss and 0.5 %, as one has it by default.
func twoGoals() Config {
	return Config{Method: result.MethodMLR, MinLoad: 100, MaxLoad: 1e7, Budget: DefaultBudget,
		Goals: []result.SearchGoal{Goal(0), Goal(0.005)}}
}
