package stats

import (
	"fmt"
	"math"
)

// Independent estimates over/under from samples of two runs, in the order in which they were taken. Nothing
// pairs them: the runs had other blocks, at other times. The ratio is that of the geometric means. The bounds
// are Welch's for the means of the logarithms, at the level of one of `family` comparisons whose bounds all hold
// together with 95 % (Bonferroni's inequality: whatever they have to do with each other). They tell of the
// scatter within the two runs, with what trials have in common with the trials before them, and are wider by a
// drift that is seen; what a machine changes from one run to the next stands in neither, so it looks like a difference.
//
// Sources: B. L. Welch, "The generalization of Student's problem when several different population variances are
// involved", Biometrika 34 (1947); for samples that depend on those before them, F. W. Zwiers and H. von Storch,
// "Taking serial correlation into account in tests of the mean", Journal of Climate 8 (1995), section 3.
func Independent(over, under []float64, family int) Estimate {
	a, reason := logarithmsOf(over)
	if reason == "" && len(over) > 0 {
		var b []float64
		if b, reason = logarithmsOf(under); reason == "" {
			return welch(a, b, family)
		}
	}
	return Estimate{Reason: reason}
}

func logarithmsOf(samples []float64) (logs []float64, reason string) {
	if len(samples) == 0 {
		return nil, "a run has no trial of it"
	}
	for _, x := range samples {
		log := math.Log(x)
		if math.IsNaN(log) || math.IsInf(log, 0) {
			return nil, fmt.Sprintf("a trial has %.4g, which has no ratio", x)
		}
		logs = append(logs, log)
	}
	return logs, ""
}

func welch(a, b []float64, family int) Estimate {
	one, other := meanOf(a), meanOf(b)
	difference := one.mean - other.mean
	e := Estimate{Estimate: math.Exp(difference), N: min(len(a), len(b))}
	if e.N < MinimumBlocks {
		return e
	}
	variance := one.variance + other.variance
	reach := one.drift + other.drift
	if variance > 0 {
		freedom := variance * variance / (one.variance*one.variance/one.freedom + other.variance*other.variance/other.freedom)
		reach += studentQuantile(mistake/float64(2*max(1, family)), freedom) * math.Sqrt(variance)
	}
	if low, high := math.Exp(difference-reach), math.Exp(difference+reach); low > 0 && !math.IsInf(high, 1) {
		e.Low, e.High = &low, &high
	}
	return e
}

// meanEstimate is a mean with the variance of it, the degrees of freedom by which that is known, and by how much the level
// moved while the samples were taken, where it clearly did.
type meanEstimate struct{ mean, variance, freedom, drift float64 }

// meanOf takes samples that follow each other for as many as they are worth: n (1 - r) / (1 + r) at a
// correlation r between neighbours. Fewer than 2 they are never, and a negative r counts as none, so that
// bounds only become wider.
func meanOf(samples []float64) meanEstimate {
	n := float64(len(samples))
	mean, deviation := moments(samples)
	r := min(max(0, neighbours(samples, mean, deviation)), 1)
	worth := max(2, n*(1-r)/(1+r))
	return meanEstimate{mean, deviation * deviation / worth, worth - 1, moved(samples)}
}

// moved is by how much samples that clearly drift did so in all: twice what their halves differ by. Where the machine moved
// so far within a run, it may have been as far away in another.
func moved(samples []float64) float64 {
	if len(samples) < minimumForShape || !drifting(samples) {
		return 0
	}
	half := len(samples) / 2
	early, _ := moments(samples[:half])
	late, _ := moments(samples[len(samples)-half:])
	return 2 * math.Abs(late-early)
}

// neighbours is the correlation between a sample and the next, without the bias of -1/n that it has where the mean
// is the samples' own (M. G. Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41 (1954)).
func neighbours(samples []float64, mean, deviation float64) float64 {
	n := float64(len(samples))
	if deviation == 0 || n < 2 {
		return 0
	}
	sum := 0.0
	for i, x := range samples[1:] {
		sum += (x - mean) * (samples[i] - mean)
	}
	return sum/((n-1)*deviation*deviation) + 1/n
}

// studentQuantile is the value that Student's t with so many degrees of freedom passes with probability p < 1/2.
func studentQuantile(p, freedom float64) float64 {
	low, high := 0.0, 1.0
	for studentTail(high, freedom) > p && high < 1e12 {
		low, high = high, 2*high
	}
	for range 60 {
		middle := (low + high) / 2
		if middle <= low || middle >= high {
			break
		}
		if studentTail(middle, freedom) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// studentTail is the probability that Student's t passes x >= 0: half of the regularised incomplete beta function
// of freedom / (freedom + x²) (Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.7.1 and 26.5.27).
func studentTail(x, freedom float64) float64 {
	return betaShare(freedom/(freedom+x*x), freedom/2, 0.5) / 2
}

// betaShare is the regularised incomplete beta function by its continued fraction (Abramowitz and Stegun, 26.5.8),
// which converges fast below the mean of the distribution; above it the other tail is taken.
func betaShare(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - betaShare(1-x, b, a)
	}
	front := math.Exp(a*math.Log(x)+b*math.Log1p(-x)-logBeta(a, b)) / a
	// From the last term back: what a term adds at this depth is under the precision of a float64 for any a below 1e5.
	const depth = 150
	fraction := 1.0
	for k := depth; k >= 1; k-- {
		fraction = 1 + betaTerm(k, x, a, b)/fraction
	}
	return front / fraction
}

func betaTerm(k int, x, a, b float64) float64 {
	m := float64(k / 2)
	if k%2 == 0 {
		return m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
	}
	return -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
}

// IndependentRatios is Independent of two runs' ratios, each taken within the blocks of its run.
func IndependentRatios(over, under []Block, family int) Estimate {
	a, reason := logRatios(over)
	if reason == "" {
		var b []float64
		if b, reason = logRatios(under); reason == "" {
			return welch(a, b, family)
		}
	}
	return Estimate{Reason: reason}
}
