package oneoff

import (
	"fmt"
	"math"
)

// rate writes bits per second with the prefix that fits, in four digits.
func rate(bitsPerSecond float64) string { return prefixed(bitsPerSecond) + "bit/s" }

// packetRate is the same for packets and frames, requestRate for requests.
func packetRate(perSecond float64) string  { return prefixed(perSecond) + "pps" }
func requestRate(perSecond float64) string { return prefixed(perSecond) + "/s" }

func prefixed(v float64) string {
	v = rounded(v)
	for _, p := range []struct {
		factor float64
		name   string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= p.factor {
			return digits(v/p.factor) + " " + p.name
		}
	}
	return digits(v) + " "
}

// figures is how many significant digits numbers have: columns stay narrow.
const figures = 4

// rounded keeps them, before a prefix or unit is chosen: 999.97 is 1000.
func rounded(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) {
		return v
	}
	step := math.Pow10(int(math.Floor(math.Log10(v))) + 1 - figures)
	return math.Round(v/step) * step
}

// digits writes a number of a column, always as wide.
func digits(v float64) string {
	whole := 1
	if v = rounded(v); v >= 1 {
		whole = int(math.Log10(v*(1+1e-12))) + 1
	}
	return fmt.Sprintf("%.*f", max(0, figures-whole), v)
}

// span writes a time of a latency's size.
func span(seconds float64) string {
	seconds = rounded(seconds)
	switch {
	case seconds >= 1:
		return digits(seconds) + " s"
	case seconds >= 1e-3:
		return digits(seconds*1e3) + " ms"
	}
	return digits(seconds*1e6) + " us"
}

// share writes a part of a whole in per cent.
func share(part, whole uint64) string {
	if whole == 0 {
		return "none"
	}
	return percent(float64(part) / float64(whole))
}

// percent says neither none of a little nor all of less.
func percent(of float64) string {
	switch {
	case of == 0:
		return "0 %"
	case of > 0.9999 && of < 1:
		return "> 99.99 %"
	case of >= 0.995 && of < 1:
		return fmt.Sprintf("%.2f %%", 100*of)
	case of < 0.0001:
		return "< 0.01 %"
	case of < 0.1:
		return fmt.Sprintf("%.2f %%", 100*of)
	}
	return fmt.Sprintf("%.0f %%", 100*of)
}
