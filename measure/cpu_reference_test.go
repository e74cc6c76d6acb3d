package measure

import "testing"

func TestReferenceRate(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want float64
	}{
		"x86":                     {"processor\t: 0\nflags\t\t: fpu constant_tsc rep_good\nbogomips\t: 5192.24\n\nprocessor\t: 1\nbogomips\t: 1.00\n", 2596.12e6},
		"a counter that may stop": {"flags\t\t: fpu tsc\nbogomips\t: 5192.24\n", 0},
		"arm64, another clock":    {"BogoMIPS\t: 50.00\nFeatures\t: fp asimd\n", 0},
		"nothing":                 {"", 0},
		"no number":               {"flags : constant_tsc\nbogomips : x\n", 0},
	} {
		if got := referenceRate(c.text); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}
