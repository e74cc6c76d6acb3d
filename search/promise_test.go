package search

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"

	"windtunnel/result"
)

const seeds = 200

// each searches a device of every seed. The results come in the seeds' order.
func each(t *testing.T, make func(uint64) (*device, float64), c Config) (found []result.Search, devices []*device, truths []float64) {
	t.Helper()
	found, devices, truths = slices.Grow(found, seeds)[:seeds], slices.Grow(devices, seeds)[:seeds], slices.Grow(truths, seeds)[:seeds]
	failed := slices.Grow([]error{}, seeds)[:seeds]
	var all sync.WaitGroup
	for part := range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := part; i < seeds; i += runtime.GOMAXPROCS(0) {
				devices[i], truths[i] = make(uint64(i))
				found[i], failed[i] = Run(context.Background(), c, devices[i].measure)
			}
		})
	}
	all.Wait()
	for i, err := range failed {
		if err != nil {
			t.Fatalf("seed %d: %v", i, err)
		}
		if s := found[i].TrafficSeconds; s > 60 {
			t.Errorf("seed %d: %g s of traffic", i, s)
		}
	}
	return found, devices, truths
}

// holds reports whether a rate's interval holds the truth, and how wide it is.
func holds(f result.Figure, truth float64) (bool, float64) {
	if f.Low == nil || f.High == nil {
		return false, 0
	}
	return *f.Low <= truth && truth <= *f.High, *f.High / *f.Low - 1
}

func doubts(s result.Search) map[string]bool {
	all := map[string]bool{}
	for _, d := range s.Doubts {
		all[d.Kind] = true
	}
	return all
}

// count is of how many searches something holds.
func count(found []result.Search, holds func(i int) bool) int {
	n := 0
	for i := range found {
		if holds(i) {
			n++
		}
	}
	return n
}

// of is the load at which a device with a limit just loses so much.
func of(limit, loss float64) float64 { return limit / (1 - loss) }

func TestASharpDeviceIsFound(t *testing.T) {
	found, _, truths := each(t, sharp, twoGoals())
	seconds := 0.0
	for i, s := range found {
		seconds += s.TrafficSeconds / seeds
		for j, g := range s.Goals {
			r, truth := s.Found[j], of(truths[i], g.LossRatio)
			if off := r.Rate.Mean/truth - 1; off < -0.005 || off > 0.005 {
				t.Errorf("seed %d, loss %g: %g is off by %.2f %%", i, g.LossRatio, r.Rate.Mean, 100*off)
			}
			if in, _ := holds(r.Rate, truth); !in || !r.Regular || r.Limit.Verdict != result.PathLimited {
				t.Errorf("seed %d, loss %g: %+v, the truth is %g", i, g.LossRatio, r, truth)
			}
			if off := r.ConditionalThroughput/truths[i] - 1; off < -0.006 || off > 0.001 {
				t.Errorf("seed %d, loss %g: the conditional throughput is off by %.2f %%", i, g.LossRatio, 100*off)
			}
		}
		if len(s.Doubts) > 0 || s.Ended != result.SearchGoals {
			t.Errorf("seed %d: ended by %s, doubts %v", i, s.Ended, s.Doubts)
		}
	}
	t.Logf("%.1f s of traffic", seconds)
}

func TestASoftDeviceIsFound(t *testing.T) {
	found, _, truths := each(t, soft, twoGoals())
	for i, s := range found {
		// Where less than one in a second's packets is lost, none is.
		none := truths[i] * (1 + softness/1000)
		some := truths[i] * (1 + softness*0.0707107)
		for j, truth := range []float64{none, some} {
			r := s.Found[j]
			if !r.Regular || r.LowerBound > truth*1.002 || r.UpperBound < truths[i] || (j == 1 && r.UpperBound < truth) {
				t.Errorf("seed %d: %+v, the truth is %g", i, r, truth)
			}
			if _, wide := holds(r.Rate, truth); wide > 0.0051 {
				t.Errorf("seed %d: the interval is %.2f %% wide", i, 100*wide)
			}
		}
		if len(s.Doubts) > 0 {
			t.Errorf("seed %d: %v", i, s.Doubts)
		}
	}
}

func TestANoisyDeviceIsInItsInterval(t *testing.T) {
	for name, make := range map[string]func(uint64) (*device, float64){"each trial": noisy, "more in short ones": whitened} {
		found, _, truths := each(t, make, twoGoals())
		for j, g := range found[0].Goals {
			widest, seconds, out := 0.0, 0.0, map[string]int{}
			in := count(found, func(i int) bool {
				in, wide := holds(found[i].Found[j].Rate, of(truths[i], g.LossRatio))
				widest = max(widest, wide)
				out[found[i].Found[j].Basis]++
				seconds += found[i].TrafficSeconds / seeds
				return in
			})
			t.Logf("%s, loss %g: in %d of %d, the widest is %.2f %%, %.1f s, by %v", name, g.LossRatio, in, seeds, 100*widest, seconds, out)
			if in < seeds*95/100 || widest > 0.02 {
				t.Errorf("%s, loss %g: the truth is in %d of %d intervals, the widest of which is %.2f %%", name, g.LossRatio, in, seeds, 100*widest)
			}
		}
		for _, kind := range []string{"bimodal", "drifting"} {
			if n := count(found, func(i int) bool { return doubts(found[i])[kind] }); n > seeds*2/100 {
				t.Errorf("%s: %d of %d are said to be %s", name, n, seeds, kind)
			}
		}
		if n := count(found, func(i int) bool { return doubts(found[i])["noisy"] }); n < seeds*95/100 {
			t.Errorf("%s: only %d of %d are said to be noisy", name, n, seeds)
		}
	}
}

func TestABimodalDeviceIsSaidToBe(t *testing.T) {
	found, _, truths := each(t, bimodal, twoGoals())
	in := count(found, func(i int) bool { in, _ := holds(found[i].Found[0].Rate, truths[i]); return in })
	narrow := count(found, func(i int) bool {
		_, wide := holds(found[i].Found[0].Rate, truths[i])
		return wide <= 0.02
	})
	said := count(found, func(i int) bool { return doubts(found[i])["bimodal"] })
	t.Logf("in %d, narrow %d, said %d", in, narrow, said)
	if in < seeds*95/100 || said < seeds*95/100 {
		t.Errorf("the truth is in %d of %d intervals; %d are said to be bimodal", in, seeds, said)
	}
}

func TestADriftingDeviceIsSaidToBe(t *testing.T) {
	found, devices, truths := each(t, drifting, twoGoals())
	in := count(found, func(i int) bool {
		now := truths[i] * (1 - driftPerMinute*devices[i].now/60)
		in, _ := holds(found[i].Found[0].Rate, now)
		return in
	})
	said := count(found, func(i int) bool { return doubts(found[i])["drifting"] })
	t.Logf("in %d, said %d", in, said)
	if in < seeds*95/100 || said < seeds*95/100 {
		t.Errorf("the truth at the end is in %d of %d intervals; %d are said to drift", in, seeds, said)
	}
}
