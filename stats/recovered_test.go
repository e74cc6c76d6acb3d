package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"windtunnel/result"
)

// quadruple draws blocks of a gap and of a change that gives a share of it back, in a noise of each trial and of
// the machine.
func quadruple(random *rand.Rand, n int, gap, share, spread float64) (all, over, under []Block) {
	for i := range n {
		machine := math.Exp(0.2 * random.NormFloat64())
		trial := func(log float64) float64 { return machine * math.Exp(log+spread*random.NormFloat64()) }
		a, b := trial(0), trial(-gap)
		all = append(all, Block{Number: i + 1, Over: b, Under: a})
		over = append(over, Block{Number: i + 1, Over: trial(-gap + 0.1 + share*gap), Under: b})
		under = append(under, Block{Number: i + 1, Over: trial(0.1), Under: a})
	}
	return all, over, under
}

// TestRecoveredHoldsTheTruth looks after every block, and stops where the bounds look best.
func TestRecoveredHoldsTheTruth(t *testing.T) {
	for _, c := range []struct{ gap, share float64 }{{0.7, 0.7}, {0.7, 0}, {-0.5, 1}, {0.3, -0.4}, {0.1, 0.5}} {
		random := rand.New(rand.NewPCG(7, 8))
		const runs = 1000
		missed := 0
		for range runs {
			all, over, under := quadruple(random, 30, c.gap, c.share, 0.03)
			for n := MinimumBlocks; n <= len(all); n++ {
				s := Recovered(all[:n], over, under, 1)
				if s.Known() && (c.share < *s.Low || c.share > *s.High) {
					missed++
					break
				}
			}
		}
		if missed > runs*5/100 {
			t.Errorf("gap %g, share %g: %d of %d runs left the truth out at some look", c.gap, c.share, missed, runs)
		}
	}
}

// TestRecoveredIsNarrowEnough for a planted share of most of the gap.
func TestRecoveredIsNarrowEnough(t *testing.T) {
	all, over, _ := quadruple(rand.New(rand.NewPCG(1, 2)), 15, 0.7, 0.8, 0.03)
	s := Recovered(all, over, nil, 9)
	// A change of one cell alone: what both were given above is in it.
	if want := 0.8 + 0.1/0.7; !s.Known() || math.Abs(s.Mean-want) > 0.1 || *s.Low < 0.5 || *s.Low > want || *s.High < want {
		t.Errorf("%+v, want about %.2f", s, want)
	}
	wide, narrow := Recovered(all, over, nil, 20), Recovered(all, over, nil, 1)
	if *wide.High-*wide.Low <= *narrow.High-*narrow.Low {
		t.Errorf("of a family %+v, alone %+v", wide, narrow)
	}
}

func TestNothingIsClaimedWithoutAGap(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	none, over, under := quadruple(random, 20, 0, 0.5, 0.03)
	small, _, _ := quadruple(random, 5, 0.3, 0.5, 0.03)
	zero := append([]Block(nil), none...)
	zero[3].Over = 0
	for says, s := range map[string]result.Figure{
		"not distinguishable from none": Recovered(none, over, under, 3),
		"4 of at least 5 blocks":        Recovered(none[:4], over, under, 3),
		"may be none":                   Recovered(small, over, under, 200),
		"no block has all of the cells": Recovered(none, over[:0], under, 3),
		"not positive":                  Recovered(zero, over, under, 3),
	} {
		if s.Known() || !strings.Contains(s.Reason, says) {
			t.Errorf("%s: %+v", says, s)
		}
	}
}

func TestRecoveredWithoutNoise(t *testing.T) {
	all, over, under := quadruple(rand.New(rand.NewPCG(5, 6)), 6, 0.7, 0.25, 0)
	if s := Recovered(all, over, under, 2); !s.Known() || math.Abs(s.Mean-0.25) > 1e-9 || math.Abs(*s.High-*s.Low) > 1e-6 {
		t.Errorf("%+v", s)
	}
}
