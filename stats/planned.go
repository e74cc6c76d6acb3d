package stats

import (
	"math"

	"windtunnel/result"
)

// Planned is a family's ratios in a run that was planned, before its first trial, to have so many blocks; 0 is not known.
// Such a run weighs evidence for what it can show by its end: bounds are narrower there, and wider in its first blocks, of
// which a few that agree by chance would else claim what the rest takes back. The bounds hold at all numbers of blocks all the same,
// for any number that was planned, as long as it was before the data.
//
// Method: the t e-process of interval.go with another prior of the standardised mean, which any may be that was fixed
// before (Pérez-Ortiz, Lardy, de Heide and Grünwald 2022): a fifteenth is Gaussian and wide, for large differences in few
// blocks, and the rest lies on points at either side of none. Of two points the bounds after n blocks are those of a sequential
// probability ratio test that expects so much (Wald, "Sequential tests of statistical hypotheses", Annals of
// Mathematical Statistics 16 (1945); with an unknown scale: Rushton, "On a sequential t-test", Biometrika 37 (1950)), wide early and narrow
// late as those of O'Brien and Fleming ("A multiple testing procedure for clinical trials", Biometrics 35 (1979)).
type Planned struct {
	Family
	Blocks int
}

const (
	// leastPlanned is from how many blocks on a plan changes anything: with fewer, all of them are the first ones.
	leastPlanned = 20
	// plannedToEnd is up to how many blocks a run is expected to have what was planned. A longer plan is more of a limit than
	// an aim, since precision ends most such runs before: half of the points are as of so many blocks.
	plannedToEnd = 30
	// surprise is the prior's wide share, and surpriseVariance how many times the family's variance it has.
	surprise, surpriseVariance = 1.0 / 15, 5
	// foreseen is what the points' squared effect is after the blocks of the plan, in logarithms of the evidence that a claim
	// needs. 2 would give the least bounds there, 8 % narrower; less than that asks more of the blocks before.
	foreseen = 1.15
	// beyond is how many times the plan's blocks the points say something of: the wide part says more from about ten times on.
	beyond = 20
)

// Planned is the family in a run that was planned to have so many blocks.
func (f Family) Planned(blocks int) Planned { return Planned{f, blocks} }

// Ratio estimates over/under from blocks, as one of the run's ratios. See RatioOf.
func (p Planned) Ratio(blocks []Block) Estimate {
	logs, reason := logRatios(blocks)
	if reason != "" {
		return Estimate{Reason: reason}
	}
	mean, reach := p.around(logs)
	e := Estimate{Estimate: math.Exp(mean), N: len(logs)}
	if low, high := math.Exp(mean-reach), math.Exp(mean+reach); low > 0 && !math.IsInf(high, 1) {
		e.Low, e.High = &low, &high
	}
	return e
}

// OfTrials estimates a ratio of cells from a run's trials, as one of the run's ratios.
func (p Planned) OfTrials(cells []result.Cell, trials []result.Trial, r result.Ratio) Estimate {
	blocks, reason := Blocks(cells, trials, r)
	if len(blocks) == 0 && reason != "" {
		return Estimate{Reason: reason}
	}
	return p.Ratio(blocks)
}

// around is what around says of a family's samples, for the plan.
func (p Planned) around(samples []float64) (mean, reach float64) {
	mean, deviation := moments(samples)
	n := len(samples)
	if n < MinimumBlocks {
		return mean, math.Inf(1)
	}
	return mean, p.standardErrors(n) * deviation / math.Sqrt(float64(n))
}

// standardErrors is what standardErrors says of a family's ratio, for the plan.
func (p Planned) standardErrors(n int) float64 {
	if p.Blocks < leastPlanned || n < MinimumBlocks {
		return standardErrors(n, p.Family)
	}
	needed := 1 / p.mistake()
	low, high := 0.0, errorsFor(surprise*p.mistake(), n, p.surpriseVariance()) // at which the wide part alone has the evidence
	if math.IsInf(high, 1) {
		return high
	}
	for high-low > 1e-12*high { // evidence rises with t
		middle := (low + high) / 2
		if middle <= low || middle >= high {
			break
		}
		if p.evidence(middle, n) < needed {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// evidence is how many times likelier n samples are under the plan's prior than under a mean that lies t standard errors off.
func (p Planned) evidence(t float64, n int) float64 {
	all := surprise * mixed(t, n, p.surpriseVariance())
	for _, blocks := range []int{p.Blocks, min(p.Blocks, plannedToEnd)} {
		if n/beyond <= blocks {
			effect := foreseen * math.Log(2/p.mistake()) / float64(blocks)
			all += (1 - surprise) / 2 * pointed(t, n, effect)
		}
	}
	return all
}

func (p Planned) surpriseVariance() float64 { return surpriseVariance * p.effectVariance() }

// pointed is the t-statistic's likelihood ratio of means at either side of none, with a squared effect in units of the noise,
// half each: the ratio of the noncentral t densities to the central one, whose even part is
//
//	exp(-n effect/2) 1F1(n/2; 1/2; n effect/2 * t²/(t²+v)),  v = n-1
//
// (Rushton 1950, by Kummer's function 1F1, summed by its series, all of whose terms are positive).
func pointed(t float64, n int, effect float64) float64 {
	half := float64(n) / 2
	x := half * effect * t * t / (t*t + float64(n-1))
	sum, term := 1.0, 1.0
	for m := 0.0; term > 1e-16*sum && !math.IsInf(sum, 1); m++ {
		term *= (half + m) / (0.5 + m) / (m + 1) * x
		sum += term
	}
	return sum * math.Exp(-half*effect)
}
