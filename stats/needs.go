package stats

import "math"

// Variation is how much a ratio's logarithm varies from block to block, as earlier runs had it.
type Variation struct {
	squares float64 // summed about each run's own mean
	freedom float64 // blocks, less one a run
	Runs    int
}

// Add takes one run's blocks in. Fewer than two, or such as have no ratio, say nothing.
func (v *Variation) Add(blocks []Block) {
	logs, reason := logRatios(blocks)
	if reason != "" || len(logs) < 2 {
		return
	}
	_, deviation := moments(logs)
	v.squares += deviation * deviation * float64(len(logs)-1)
	v.freedom += float64(len(logs) - 1)
	v.Runs++
}

// Known reports whether any run said something.
func (v Variation) Known() bool { return v.freedom > 0 }

// Deviation is the standard deviation of a block's ratio, relative: 0.03 is 3 %.
func (v Variation) Deviation() float64 { return math.Sqrt(v.squares / v.freedom) }

// atMost is a deviation that the true one is below with 90 % confidence, of Gaussian noise: by the
// chi-square distribution's lower tenth, as Wilson and Hilferty approximate it ("The distribution of chi-square",
// Proceedings of the National Academy of Sciences 17 (1931)).
func (v Variation) atMost() float64 {
	const z = -1.2816
	root := 1 - 2/(9*v.freedom) + z*math.Sqrt(2/(9*v.freedom))
	return math.Sqrt(v.squares / (v.freedom * math.Max(root*root*root, 0.01)))
}

// mostNeeded bounds what is reckoned with; so many blocks are days.
const mostNeeded = 100_000

// Blocks is how many blocks it takes to know one of a planned run's ratios to a precision, a relative half-width, when they
// vary as they did: about, and at most where the variation, of few blocks, was luck (1 in 10).
func (v Variation) Blocks(precision float64, p Planned) (about, atMost int) {
	return needed(v.Deviation(), precision, p), needed(v.atMost(), precision, p)
}

func needed(deviation, precision float64, p Planned) int {
	within := math.Log1p(precision)
	low, high := MinimumBlocks, mostNeeded
	for low < high { // the reach falls with every block
		n := (low + high) / 2
		if p.standardErrors(n)*deviation/math.Sqrt(float64(n)) <= within {
			high = n
		} else {
			low = n + 1
		}
	}
	return low
}
