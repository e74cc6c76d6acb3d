package stats

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// suites is how many seeded suites, or series, promises are measured on: `make promises` takes 1000.
var suites = flag.Int("suites", 100, "seeded suites that promises are measured on")

// series is n values of a level, with noise.
func series(random *rand.Rand, n int, level, spread float64, heavy bool) []float64 {
	values := make([]float64, n)
	for i := range values {
		z := random.NormFloat64()
		if heavy {
			z /= math.Sqrt(random.ExpFloat64())
		}
		values[i] = level * (1 + spread*z)
	}
	return values
}

func TestChangePointsFalseAlarms(t *testing.T) {
	of := max(400, *suites)
	for name, c := range map[string]struct {
		n     int
		heavy bool
	}{"8 values": {8, false}, "20 values": {20, false}, "20 values, heavy tails": {20, true}, "60 values": {60, false}} {
		alarms := 0
		for i := range of {
			if len(ChangePoints(series(rand.New(rand.NewPCG(uint64(i), 3)), c.n, 0.9, 0.02, c.heavy))) > 0 {
				alarms++
			}
		}
		t.Logf("%-24s %.2f %% of series without a change have one", name, 100*float64(alarms)/float64(of))
		// The 99.9 % point of so many draws at falseAlarm.
		if expected := float64(of) * falseAlarm; float64(alarms) > expected+3.1*math.Sqrt(expected) {
			t.Errorf("%s: %d of %d series without a change have one", name, alarms, of)
		}
	}
}

func TestChangePointsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		before, after int
		by            float64
		least         float64
	}{
		"5 % at 2 %, halfway":  {10, 10, 0.95, 0.85},
		"10 % at 2 %, at last": {17, 3, 0.90, 0.9},
		"20 % at 2 %, two":     {20, 2, 0.80, 0.9},
	} {
		found, exact := 0, 0
		for i := range 200 {
			random := rand.New(rand.NewPCG(uint64(i), 5))
			values := append(series(random, c.before, 1, 0.02, false), series(random, c.after, c.by, 0.02, false)...)
			for _, p := range ChangePoints(values) {
				if d := p.Index - c.before; d >= -2 && d <= 2 {
					found++
					if d == 0 {
						exact++
					}
					break
				}
			}
		}
		t.Logf("%-22s found in %d of 200, %d at the very run", name, found, exact)
		if float64(found) < c.least*200 {
			t.Errorf("%s: found in %d of 200", name, found)
		}
	}
}

func TestChangePointsTellLevels(t *testing.T) {
	values := []float64{1, 1.01, 0.99, 1, 1.02, 0.98, 1, 1.01, 0.8, 0.81, 0.79, 0.8, 0.8, 50, 0.81, 0.8, 1, 1.01, 0.99, 1, 1, 0.99, 1.01, 1}
	values = append(values[:3:3], append([]float64{math.NaN()}, values[3:]...)...)
	got := ChangePoints(values)
	if len(got) != 2 || got[0].Index != 9 || got[1].Index != 17 {
		t.Fatalf("%+v", got)
	}
	if first := got[0]; math.Abs(first.Before-1) > 0.01 || math.Abs(first.After-0.8) > 0.01 || first.Sure < 1-falseAlarm || first.Sure >= 1 {
		t.Errorf("%+v", first)
	}
	if got := ChangePoints([]float64{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}); len(got) != 1 || got[0].Index != 6 {
		t.Errorf("a step without noise: %+v", got)
	}
	for _, none := range [][]float64{nil, {1}, {1, 2}, {1, 2, 3, 4}, {5, 5, 5, 5, 5, 5, 5, 5}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9}} {
		if got := ChangePoints(none); len(got) != 0 {
			t.Errorf("%v: %+v", none, got)
		}
	}
}

// Whatever the values, changes are in order, lie within, and do not hang on the unit.
func TestChangePointsOfAnySeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 0, 40).Draw(t, "values")
		scaled := make([]float64, len(values))
		for i, v := range values {
			scaled[i] = 8 * v
		}
		points, others := ChangePoints(values), ChangePoints(scaled)
		if len(points) != len(others) {
			t.Fatalf("%+v, in another unit %+v", points, others)
		}
		last := 0
		for i, p := range points {
			if p.Index < last+shortestLevel || p.Index > len(values)-shortestLevel || p.Sure < 1-falseAlarm || others[i].Index != p.Index {
				t.Fatalf("%+v of %d values", points, len(values))
			}
			last = p.Index
		}
	})
}

// TestNewLevel: fewer values of a new level never show it, and one more always does, where there is hardly any noise. (With
// just as many, the orders that are drawn decide.)
func TestNewLevel(t *testing.T) {
	for n := 2; n <= 30; n++ {
		needed := NewLevel(n)
		for _, k := range []int{needed - 1, needed + 1} {
			if k < 1 || needed == 0 && k > 0 || k > n/2 {
				continue
			}
			values := series(rand.New(rand.NewPCG(uint64(n), 9)), n, 1, 1e-6, false)
			for i := n - k; i < n; i++ {
				values[i] *= 0.5
			}
			if got := len(ChangePoints(values)) > 0; got != (k > needed) {
				t.Errorf("%d of %d values of a new level: seen is %v", k, n, got)
			}
		}
	}
	if NewLevel(8) != 0 || NewLevel(9) != 4 || NewLevel(15) != 2 {
		t.Errorf("8 values: %d, 9: %d, 15: %d", NewLevel(8), NewLevel(9), NewLevel(15))
	}
}
