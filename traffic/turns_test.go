package traffic

import (
	"math"
	"slices"
	"testing"
)

func TestTurns(t *testing.T) {
	either := func(plain, other float64) func(int, bool) float64 {
		return func(_ int, is bool) float64 {
			if is {
				return other
			}
			return plain
		}
	}
	for _, c := range []struct {
		name string
		rate func(turn int, other bool) float64
		gain float64
	}{
		{"a third more", either(300, 400), 4. / 3},
		{"as much", either(300, 300), 1},
		{"less", either(400, 300), 0.75},
		{"a rate that grows", func(turn int, _ bool) float64 { return float64(1000 + 10*turn) }, 1},
		{"a rate that falls", func(turn int, _ bool) float64 { return float64(1000 - 10*turn) }, 1},
		{"a turn without a CPU", func(turn int, other bool) float64 {
			if turn == 0 {
				return 0
			}
			return either(300, 303)(turn, other)
		}, 1.01},
		{"nothing by the plain way", either(0, 300), 300},
		{"nothing at all", either(0, 0), 0},
	} {
		trial, order := NewTurns(4), []bool{}
		for turn := 0; !trial.Over(); turn++ {
			if turn == 8 {
				t.Fatalf("%s: no end", c.name)
			}
			if gain := trial.Gain(); gain != 0 || trial.Begun() != (turn > 0) {
				t.Errorf("%s: turn %d: gain %g, begun: %t", c.name, turn, gain, trial.Begun())
			}
			order = append(order, trial.Other())
			trial.Add(c.rate(turn, trial.Other()))
		}
		if got := trial.Gain(); math.Abs(got-c.gain) > 0.002 {
			t.Errorf("%s: gain %g, want %g", c.name, got, c.gain)
		}
		if want := []bool{false, true, true, false, true, false, false, true}; !slices.Equal(order, want) {
			t.Errorf("%s: turns %v", c.name, order)
		}
		if trial.Add(1e9); trial.Other() || math.Abs(trial.Gain()-c.gain) > 0.002 {
			t.Errorf("%s: it changes its mind", c.name)
		}
	}
}

// TestAPairOfTurnsBeginsAgain where its second turn could not be, so that no turn is compared with one of long ago.
func TestAPairOfTurnsBeginsAgain(t *testing.T) {
	trial := NewTurns(2)
	trial.Add(1)
	if trial.Again(); trial.Other() || trial.Begun() {
		t.Error("its first turn counts still")
	}
	trial.Add(100)
	trial.Add(200)
	if trial.Again(); !trial.Other() || !trial.Begun() {
		t.Error("a pair that has been is forgotten")
	}
	trial.Add(400)
	trial.Add(100)
	if got := trial.Gain(); got != 3 {
		t.Errorf("gain %g", got)
	}
}

// TestTurnsByDefault compare nothing.
func TestTurnsByDefault(t *testing.T) {
	var none Turns
	if none.Add(1); !none.Over() || none.Gain() != 0 || none.Other() {
		t.Errorf("%+v", none)
	}
}
