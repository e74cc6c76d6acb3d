package oneoff

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0.000 bit/s": rate(0), "9.412 Gbit/s": rate(9.4123e9), "1.000 Gbit/s": rate(999.97e6), "999.9 Mbit/s": rate(999.93e6),
		"10.00 kpps": packetRate(9999.7), "1.500 Tbit/s": rate(1.5e12), "12.30 /s": requestRate(12.3),
		"0.000 us": span(0), "1.000 ms": span(999.99e-6), "120.0 us": span(120e-6), "2.500 s": span(2.5),
		"none": share(1, 0), "0 %": share(0, 5), "< 0.01 %": share(1, 1e6), "0.50 %": share(5, 1000), "50 %": share(1, 2),
		"99 %": share(994, 1000), "99.50 %": share(995, 1000), "99.99 %": share(9999, 10000), "> 99.99 %": share(1e6-1, 1e6), "100 %": share(5, 5),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, odd := range []float64{-1, math.Inf(1), math.NaN(), 1e300, 1e-300, math.MaxFloat64, 5e-324} {
		_ = rate(odd) + span(odd) + percent(odd)
	}
}
