package stats

import (
	"math"
	"math/rand/v2"
)

// noise is a machine on which two cells are measured in blocks of random order.
type noise struct {
	spread      float64 // of every trial, relative
	drift       float64 // of the machine, a trial, relative; a random walk and a trend
	modes       float64 // height of a second mode that half of the trials are in
	outliers    float64 // share of trials that lose up to 60 %
	far         float64 // standard deviation of the logarithm of one trial in 33
	heavy       bool    // the spread is of Student's t with 2 degrees of freedom
	tailless    bool    // the spread is uniform
	first       float64 // what a trial gains by coming first
	alternating bool    // every other block runs in the reverse order
}

var noises = map[string]noise{
	"plain":                    {spread: 0.03},
	"tailless":                 {spread: 0.03, tailless: true},
	"heavy tails":              {spread: 0.03, heavy: true},
	"drift":                    {spread: 0.03, drift: 0.02},
	"drift alone":              {spread: 0.002, drift: 0.02},
	"two modes":                {spread: 0.01, modes: 0.25},
	"far and few":              {spread: 0.0173, far: 0.1414}, // 3 % in all
	"outliers":                 {spread: 0.03, outliers: 0.1},
	"all at once":              {spread: 0.03, drift: 0.01, modes: 0.15, outliers: 0.05},
	"order effect":             {spread: 0.03, first: 0.03},
	"order effect, alternated": {spread: 0.01, first: 0.10, alternating: true},
}

// blocks simulates n blocks of a cell whose true rate is truth times the other's.
func (n noise) blocks(random *rand.Rand, truth float64, count int) []Block {
	level, all := 100.0, make([]Block, count)
	overFirst := false
	for i := range all {
		if !n.alternating || i%2 == 0 {
			overFirst = random.IntN(2) == 0
		} else {
			overFirst = !overFirst
		}
		var trials [2]float64
		for place := range trials {
			level *= math.Exp(n.drift * (random.NormFloat64() - 0.3))
			trials[place] = level * n.trial(random)
		}
		trials[0] *= 1 + n.first
		order := overFirst
		b := Block{Number: i + 1, Over: trials[0] * truth, Under: trials[1], OverFirst: &order}
		if !overFirst {
			b.Over, b.Under = trials[1]*truth, trials[0]
		}
		all[i] = b
	}
	return all
}

func (n noise) trial(random *rand.Rand) float64 {
	z := random.NormFloat64()
	if n.heavy {
		z /= math.Sqrt(random.ExpFloat64())
	}
	if n.tailless {
		z = (random.Float64() - 0.5) * math.Sqrt(12)
	}
	value := math.Exp(n.spread * z)
	if random.IntN(2) == 0 {
		value *= 1 + n.modes
	}
	if random.Float64() < n.outliers {
		value *= 1 - 0.6*random.Float64()
	}
	if n.far > 0 && random.Float64() < 0.03 {
		value *= math.Exp(n.far * random.NormFloat64())
	}
	return value
}
