package stats

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// Estimate is a ratio and what is known of it. Low and High are nil where there
// are fewer than MinimumBlocks blocks, or where the blocks differ beyond all measure. Reason says why there is no ratio (N is 0).
type Estimate struct {
	Estimate float64
	Low      *float64
	High     *float64
	N        int // blocks
	Reason   string
}

// Block is one block's two values, of the ratio's numerator and denominator.
type Block struct {
	Number    int
	Over      float64
	Under     float64
	OverFirst *bool // which ran first; nil: not recorded
}

// RatioOf estimates over/under from values that are paired by block. Drift of the
// machine hits both of a pair alike, so the ratio is taken within the pair and
// averaged as a logarithm: B/A is then exactly the inverse of A/B. The bounds
// hold under a look after every block and stopping by what it shows.
func RatioOf(over, under []float64) Estimate {
	blocks := make([]Block, min(len(over), len(under)))
	for i := range blocks {
		blocks[i] = Block{Number: i + 1, Over: over[i], Under: under[i]}
	}
	return Ratio(blocks)
}

// Ratio estimates over/under from blocks, a ratio alone. See RatioOf.
func Ratio(blocks []Block) Estimate { return Family(1).Ratio(blocks) }

// LogRatios are the logarithms of the blocks' ratios, for Warnings; nil where a
// value is not positive.
func LogRatios(blocks []Block) []float64 {
	logs, _ := logRatios(blocks)
	return logs
}

func logRatios(blocks []Block) (logs []float64, reason string) {
	if len(blocks) == 0 {
		return nil, "no block has both cells"
	}
	for _, b := range blocks {
		log := math.Log(b.Over / b.Under)
		if b.Over <= 0 || b.Under <= 0 || math.IsNaN(log) || math.IsInf(log, 0) {
			return nil, fmt.Sprintf("block %d has %.4g over %.4g, which is no ratio", b.Number, b.Over, b.Under)
		}
		logs = append(logs, log)
	}
	return logs, ""
}

// Known reports whether there is a ratio.
func (e Estimate) Known() bool { return e.Reason == "" && e.N > 0 }

// Bounded reports whether there are bounds.
func (e Estimate) Bounded() bool { return e.Known() && e.Low != nil && e.High != nil }

// OneSided reports whether there is one bound: the estimate is that, and the ratio lies there or beyond.
func (e Estimate) OneSided() bool { return e.Known() && (e.Low == nil) != (e.High == nil) }

// HalfWidth is how far the bounds are from the estimate, relative to it: 0.05 is
// 5 %. +Inf without bounds.
func (e Estimate) HalfWidth() float64 {
	if !e.Bounded() || *e.Low <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt(*e.High / *e.Low) - 1
}

// Differs reports whether the interval leaves 1 out: a difference is claimed.
func (e Estimate) Differs() bool {
	return e.Known() && (e.Low != nil && *e.Low > 1 || e.High != nil && *e.High < 1)
}

// Known is the stopping rule: whether the ratio is known to the precision, a
// relative half-width (0.05).
func Known(e Estimate, precision float64) bool { return e.HalfWidth() <= precision }

// OfTrials estimates a ratio of cells from a run's trials, a ratio alone.
func OfTrials(cells []result.Cell, trials []result.Trial, r result.Ratio) Estimate {
	return Family(1).OfTrials(cells, trials, r)
}
