package report

import (
	"math"
	"strconv"
)

// scale places values between two points of a picture: linearly, or, of ratios, by their logarithm, so that twice and
// half are as far from 1.
type scale struct {
	from, to  float64 // values
	low, high float64 // where they stand
	log       bool
}

// linearScale goes from 0 to a round number that is not below most.
func linearScale(most float64) scale {
	if !(most > 0) || math.IsInf(most, 1) {
		most = 1
	}
	step := niceStep(most / 4)
	return scale{from: 0, to: step * math.Ceil(most/step*(1-1e-9))}
}

// logScale spans the values, which are positive, and 1.
func logScale(values ...float64) scale {
	s := scale{from: 1, to: 1, log: true}
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			s.from, s.to = min(s.from, v), max(s.to, v)
		}
	}
	room := max(math.Pow(s.to/s.from, 0.05), 1.02)
	s.from, s.to = s.from/room, s.to*room
	return s
}

// between is the scale at these points.
func (s scale) between(low, high float64) scale {
	s.low, s.high = low, high
	return s
}

// at is where a value stands; outside of the scale, at its end.
func (s scale) at(v float64) float64 {
	share := 0.0
	if s.log {
		share = math.Log(max(v, s.from)/s.from) / math.Log(s.to/s.from)
	} else {
		share = (v - s.from) / (s.to - s.from)
	}
	if math.IsNaN(share) {
		share = 0
	}
	return s.low + max(0, min(1, share))*(s.high-s.low)
}

// holds reports whether a value is within the scale, but for rounding.
func (s scale) holds(v float64) bool { return v >= s.from*(1-1e-9) && v <= s.to*(1+1e-9) }

// ticks are round values within the scale: about four to eight.
func (s scale) ticks() []float64 {
	if s.log && s.to/s.from > 4 {
		return s.decades()
	}
	step := niceStep((s.to - s.from) / 5)
	var all []float64
	// + 0 makes 0 of the -0 that rounding up gives.
	for i := math.Ceil(s.from/step-1e-9) + 0; i*step <= s.to*(1+1e-9) && len(all) < 20; i++ {
		all = append(all, i*step)
	}
	return all
}

// decades are 1, 2 and 5 of each power of ten, or only the powers where those are many.
func (s scale) decades() []float64 {
	factors, every := []float64{1, 2, 5}, 1.0
	if powers := math.Log10(s.to / s.from); powers > 3 {
		factors, every = []float64{1}, math.Ceil(powers/8)
	}
	var all []float64
	for power := math.Floor(math.Log10(s.from)); power <= math.Log10(s.to) && len(all) < 40; power++ {
		if math.Mod(power, every) != 0 {
			continue
		}
		for _, factor := range factors {
			if v := factor * math.Pow(10, power); s.holds(v) {
				all = append(all, v)
			}
		}
	}
	return all
}

// niceStep is 1, 2 or 5 times a power of ten, at least v.
func niceStep(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 1) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= v*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// tickLabel writes a round value.
func tickLabel(v float64) string {
	if v != 0 && (math.Abs(v) >= 1e6 || math.Abs(v) < 1e-4) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

// xAxis draws a scale from left to right, its lines from top to bottom, and under it its ticks and what it measures.
func (d *drawing) xAxis(s scale, top, bottom float64, says string) {
	room := (s.high - s.low) / max(1, float64(len(s.ticks())))
	for _, v := range s.ticks() {
		d.line("grid", s.at(v), top, s.at(v), bottom)
		d.label("small faint", around, s.at(v), bottom+14, max(room, 40), tickLabel(v))
	}
	d.line("axis", s.low, bottom, s.high, bottom)
	d.label("small faint", around, (s.low+s.high)/2, bottom+30, d.width-16, says)
}

// yAxis draws a scale from the bottom upwards, its lines from left to right, and its ticks left of it.
func (d *drawing) yAxis(s scale, left, right float64, ticks ...float64) {
	for _, v := range ticks {
		d.line("grid", left, s.at(v), right, s.at(v))
		d.label("small faint", upToHere, left-6, s.at(v)+4, left, tickLabel(v))
	}
}
