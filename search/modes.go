package search

import (
	"math"
	"slices"
)

// modes are two ways in which a path behaves, each with limits of its own.
type modes struct {
	slow, fast fitted
	slowTrials int // of the trials that tell: the load was above the slow mode's limits
	trials     int
}

// When limits count as two groups: so many trials in each, and so far apart, in deviations
// within them. A normal distribution cut in two has 2.7.
const (
	leastInMode = 3
	leastTold   = 12
	modesApart  = 6.0
)

// findModes cuts the limits where the two parts are the most alike within. ok is false
// where they are one group.
func findModes(all []point) (m modes, ok bool) {
	var lost []point
	for _, p := range all {
		if p.lost {
			lost = append(lost, p)
		}
	}
	if len(lost) < leastTold {
		return m, false
	}
	slices.SortFunc(lost, func(a, b point) int {
		if a.limit < b.limit {
			return -1
		}
		return 1
	})
	best, at := math.Inf(1), 0
	for i := leastInMode; i <= len(lost)-leastInMode; i++ {
		if s := scatter(lost[:i]) + scatter(lost[i:]); s < best {
			best, at = s, i
		}
	}
	within := math.Max(math.Sqrt(best/float64(len(lost)-2)), leastDeviation)
	m.slow, m.fast = level(lost[:at]), level(lost[at:]) // the fast one's are those that lost, for now
	if m.fast.middle-m.slow.middle < math.Max(modesApart*within, width) {
		return m, false
	}
	between := (m.slow.middle + m.fast.middle) / 2
	var fast []point
	for _, p := range all {
		switch {
		case p.load <= between:
			continue
		case p.lost && p.limit < between:
			m.slowTrials++
		default:
			fast = append(fast, p)
		}
		m.trials++
	}
	m.fast = fit(fast, false)
	return m, true
}

// scatter is the sum of squares about the mean.
func scatter(points []point) float64 {
	f := level(points)
	return f.deviation * f.deviation * float64(len(points)-1)
}

// level is the mean of limits, none of them censored.
func level(points []point) fitted {
	n := float64(len(points))
	f := fitted{weight: n}
	for _, p := range points {
		f.middle += p.limit / n
	}
	sum := 0.0
	for _, p := range points {
		sum += (p.limit - f.middle) * (p.limit - f.middle)
	}
	f.deviation = math.Max(math.Sqrt(sum/(n-1)), leastDeviation)
	f.middleError = f.deviation / math.Sqrt(n)
	return f
}

// slowShare is the share of trials in the slow mode, with its bounds (Wilson's, with
// the normal's 97.5th percentile).
func (m modes) slowShare() (share, low, high float64) {
	const z = 1.96
	n := float64(m.trials)
	share = float64(m.slowTrials) / n
	middle := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return share, middle - half, middle + half
}
