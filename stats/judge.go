package stats

import (
	"math"

	"windtunnel/result"
)

// Judgement is what data say of a sentence.
type Judgement string

// The judgements, as the JSON report spells them.
const (
	Supported   Judgement = "supported"
	Refuted     Judgement = "refuted"
	Undecided   Judgement = "undecided"
	NotMeasured Judgement = "not_measured"
)

// Judge asks an estimate about a comparison: supported where the whole interval
// lies within the comparison's bounds, refuted where all of it lies outside,
// undecided where it crosses one, or where there are no bounds yet.
func Judge(c result.Comparison, e Estimate) Judgement {
	switch {
	case !e.Known():
		return NotMeasured
	case !e.Bounded() && !e.OneSided():
		return Undecided
	}
	low, high := math.Inf(-1), math.Inf(1)
	if e.Low != nil {
		low = *e.Low
	}
	if e.High != nil {
		high = *e.High
	}
	return judge(c, low, high)
}

// round is how near to a bound a value without an interval counts as on it: the
// sentences are in round numbers, and a published 1.998 is "a factor of 2".
const round = 0.005

// JudgeValue asks a single value without an interval, such as a published one.
func JudgeValue(c result.Comparison, value float64) Judgement {
	for _, bound := range []*float64{c.Low, c.High} {
		if bound != nil && math.Abs(value-*bound) <= round*math.Abs(*bound) {
			value = *bound
		}
	}
	return judge(c, value, value)
}

func judge(c result.Comparison, low, high float64) Judgement {
	switch {
	case c.Low != nil && high < *c.Low, c.High != nil && low > *c.High:
		return Refuted
	case (c.Low == nil || low >= *c.Low) && (c.High == nil || high <= *c.High):
		return Supported
	}
	return Undecided
}

// All judges a conjunction: refuted where one part is, supported where every part
// is, else not measured where one part is, else undecided.
func All(parts []Judgement) Judgement {
	count := map[Judgement]int{}
	for _, p := range parts {
		count[p]++
	}
	switch {
	case len(parts) == 0:
		return NotMeasured
	case count[Refuted] > 0:
		return Refuted
	case count[NotMeasured] > 0:
		return NotMeasured
	case count[Supported] == len(parts):
		return Supported
	}
	return Undecided
}
