package search

import (
	"math"
	"slices"

	"windtunnel/result"
)

// point is a trial as the fit sees it, in natural logarithms: a path that forwards what it
// can, and loses the rest, tells in each trial that lost what its limit was: what
// arrived. A trial that did not lose tells that its limit was above the load.
type point struct {
	asked float64 // the trial's load, no logarithm
	load  float64 // what was offered
	lost  bool
	over  float64 // of a trial that lost: -ln(1 - loss)
	limit float64 // load - over; of a trial that did not lose: the load, a lower limit
	at    float64 // the trial's place in time, from -1/2 to 1/2 of all trials
}

// noLoss is a loss up to which a trial is taken for one below its limit: a tenth of the
// default width, so that packets that get lost at any load move no limit.
const noLoss = width / 10

// points are the usable trials of at least the given length.
func points(trials []result.SearchTrial, seconds float64) []point {
	total, passed := 0.0, 0.0
	for _, t := range trials {
		total += t.EffectiveSeconds
	}
	var all []point
	for _, t := range trials {
		at := (passed+t.EffectiveSeconds/2)/total - 0.5
		passed += t.EffectiveSeconds
		missing := uncarried(t)
		if t.Unusable != "" || t.Seconds < seconds || missing > nearby {
			continue
		}
		p := point{asked: t.Load, load: math.Log(offered(t)), at: at, lost: missing > noLoss}
		if p.lost {
			p.over = -math.Log(1 - missing)
		}
		p.limit = p.load - p.over
		all = append(all, p)
	}
	return all
}

// fitted are limits drawn from a normal distribution, about a line in time.
type fitted struct {
	middle, slope, deviation float64 // of logarithms; slope over all trials
	middleError, slopeError  float64
	weight                   float64 // trials, each by how much it says
	likelihood               float64 // its logarithm
}

// The fit's rounds, and a change by one at which it has settled.
const (
	fitRounds = 100
	fitEnough = 1e-6
)

// leastDeviation keeps a fit of identical limits finite.
const leastDeviation = 1e-5

// fit is the likeliest normal distribution of the limits, by expectation and
// maximisation, trials without loss being censored (Dempster, Laird, Rubin 1977, section
// 4.3). Errors come from the observed information.
func fit(points []point, drift bool) fitted {
	f := fitted{deviation: 0.02}
	for i, p := range points {
		f.middle += (p.limit - f.middle) / float64(i+1)
	}
	expected, variance := make([]float64, len(points)), make([]float64, len(points))
	for range fitRounds {
		before := f
		for i, p := range points {
			expected[i], variance[i] = p.expect(f)
		}
		f.line(points, expected, drift)
		sum := 0.0
		for i, p := range points {
			off := expected[i] - f.centre(p)
			sum += off*off + variance[i]
		}
		f.deviation = math.Max(math.Sqrt(sum/float64(len(points))), leastDeviation)
		if math.Abs(f.middle-before.middle)+math.Abs(f.slope-before.slope)+math.Abs(f.deviation-before.deviation) < fitEnough {
			break
		}
	}
	f.judge(points)
	return f
}

// centre is the middle of the distribution at a point's time.
func (f fitted) centre(p point) float64 { return f.middle + f.slope*p.at }

// expect is the mean and variance of a point's limit, given the fit.
func (p point) expect(f fitted) (mean, variance float64) {
	if p.lost {
		return p.limit, 0
	}
	z := (p.limit - f.centre(p)) / f.deviation
	h := hazard(z)
	return f.centre(p) + f.deviation*h, f.deviation * f.deviation * math.Max(0, 1+z*h-h*h)
}

// line is the least squares' one; a level without drift.
func (f *fitted) line(points []point, expected []float64, drift bool) {
	n, at, mean := float64(len(points)), 0.0, 0.0
	for i, p := range points {
		at += p.at / n
		mean += expected[i] / n
	}
	cross, square := 0.0, 0.0
	for i, p := range points {
		cross += (p.at - at) * (expected[i] - mean)
		square += (p.at - at) * (p.at - at)
	}
	f.slope = 0
	if drift && square > 0 {
		f.slope = cross / square
	}
	f.middle = mean - f.slope*at
}

// judge says how sure the fit is, and how likely the points are under it.
func (f *fitted) judge(points []point) {
	f.weight, f.likelihood = 0, 0
	at, square := 0.0, 0.0
	weights := make([]float64, len(points))
	for i, p := range points {
		z := (p.limit - f.centre(p)) / f.deviation
		if p.lost {
			weights[i] = 1
			f.likelihood -= z*z/2 + math.Log(f.deviation)
		} else {
			h := hazard(z)
			weights[i] = math.Max(0, h*(h-z))
			f.likelihood += math.Log(math.Max(above(z), math.SmallestNonzeroFloat64))
		}
		f.weight += weights[i]
		at += weights[i] * p.at
	}
	at /= f.weight
	for i, p := range points {
		square += weights[i] * (p.at - at) * (p.at - at)
	}
	f.slopeError = f.deviation / math.Sqrt(square)
	f.middleError = math.Hypot(f.deviation/math.Sqrt(f.weight), f.slopeErrorAt(at))
}

// slopeErrorAt is what an unknown slope adds to the middle's error.
func (f fitted) slopeErrorAt(at float64) float64 {
	if f.slope == 0 {
		return 0
	}
	return f.slopeError * at
}

// forwards reports whether the points agree with a path that forwards what it can. One that
// forwards less, or more, the more it is given, has an exponent other than one: loss
// grows by that power of the load above the limit. It is believed where it is
// likelier by a factor that has a chance of 1 in 1000 otherwise (a likelihood ratio's).
func forwards(points []point, drift bool) bool {
	own := fit(points, drift).likelihood
	for _, exponent := range []float64{0.25, 0.4, 0.6, 0.8, 1.25, 1.6, 2.5, 4} {
		bent := make([]point, len(points))
		lost := 0.0
		for i, p := range points {
			if p.lost {
				p.limit = p.load - p.over/exponent
				lost++
			}
			bent[i] = p
		}
		if fit(bent, drift).likelihood-lost*math.Log(exponent) > own+unlikely {
			return false
		}
	}
	return true
}

// unlikely is half the 99.9th percentile of chi-square with one degree of freedom.
const unlikely = 5.41

// follow reports whether what arrived follows what was sent: a path that loses some of any load has no limit, though each of its trials
// looks like one near its own load. A search that comes down takes that for a drift, and one that goes up and down for two modes. It is
// believed as forwards believes an exponent, over the best that time or none says.
func follow(points []point, likelihood float64) bool {
	const mostly = 0.5 // of a load's change arrives
	byLoad, mean := slices.Clone(points), 0.0
	for i, p := range points {
		mean += (p.load - mean) / float64(i+1)
	}
	for i, p := range points {
		byLoad[i].at = p.load - mean
	}
	f := fit(byLoad, true)
	return f.slope > mostly && f.likelihood > likelihood+unlikely
}

// above is the standard normal distribution's share above z.
func above(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }

// hazard is the density at z over the share above it.
func hazard(z float64) float64 {
	if z > 30 { // the share is 0 there; the hazard's asymptote is not
		return z + 1/z
	}
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / above(z)
}
