package traffic

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFloor has datagrams that are held up at random, over windows of several lengths.
func TestFloor(t *testing.T) {
	for name, queue := range map[string]struct {
		grows float64 // ns in a ns
		want  float64 // ns in a ns of the window, at least and at most
		more  float64
	}{
		"empty":  {0, 0, 0.0001},
		"grows":  {0.005, 0.0042, 0.0051},
		"drains": {-0.005, 0, 0},
	} {
		for _, window := range []int64{5e6, 250e6, 500e6, 3e9, 60e9} {
			random := rand.New(rand.NewPCG(1, uint64(window)))
			var f Floor
			gap := window / 5000
			for sent := int64(77); sent < window; sent += gap {
				held := int64(0)
				if random.Float64() < 0.7 {
					held = int64(random.ExpFloat64() * 1e6)
				}
				f.Note(sent, -1e12+1e8+int64(queue.grows*float64(sent))+held+random.Int64N(gap/100+1))
			}
			if rise := float64(f.Rise()) / float64(window); rise < queue.want || rise > queue.more {
				t.Errorf("%s: a window of %g s rose by %g", name, float64(window)/1e9, rise)
			}
		}
	}
}

// TestFloorOfAReceiverThatHasNoCPU: what leaves from a share of the window on comes when it goes on, later than the window's end by another
// share. Of a search on a busy machine a trial that lost nothing told 45 % lost in a queue that grew.
func TestFloorOfAReceiverThatHasNoCPU(t *testing.T) {
	for _, grows := range []float64{0, 0.005} {
		for i, window := range []int64{250e6, 500e6, 3e9, 250e6, 500e6, 3e9} {
			bursts := i > 2
			for _, from := range []float64{0.3, 0.8, 0.9, 0.93, 0.99, 1} {
				for _, goesOn := range []float64{1.001, 1.1, 1.9, 40} {
					random := rand.New(rand.NewPCG(1, uint64(window)))
					var f Floor
					gap := window / 5000
					for sent := int64(0); sent < window; sent += gap {
						if bursts && random.Float64() < 0.005 { // the sender has no CPU either
							sent += random.Int64N(window / 20)
						}
						came := sent + int64(grows*float64(sent)) + random.Int64N(1e6)
						if float64(came) >= from*float64(window) {
							came = max(came, int64(goesOn*float64(window)))
						}
						f.Note(sent, -1e12+came-sent)
					}
					least := 0.0
					if grows > 0 {
						least = 0.7 * grows * from
					}
					if bursts && from < 1 && from > 0.98 { // nothing may have left after it
						least = 0
					}
					if rise := float64(f.Rise()) / float64(window); rise < least || rise > grows+0.0005 {
						t.Errorf("a queue that grows by %g, from %g to %g of a window of %g s: rose by %g", grows, from, goesOn, float64(window)/1e9, rise)
					}
				}
			}
		}
	}
}

// TestFloorOfTimesOfNobody takes what a stranger may say: times whose difference is more than there is.
func TestFloorOfTimesOfNobody(t *testing.T) {
	for _, times := range [][]int64{
		{math.MinInt64, math.MaxInt64}, {math.MaxInt64, math.MinInt64}, {-1, math.MaxInt64}, {math.MinInt64, 0, -1, math.MinInt64 + 1},
		{0, math.MaxInt64, 1 << 18, math.MaxInt64 - 1},
	} {
		var f Floor
		for _, sent := range times {
			f.Note(sent, math.MaxInt64-sent)
		}
		f.Rise()
	}
}

func TestFloorOfFew(t *testing.T) {
	var f Floor
	if f.Rise() != 0 {
		t.Error("no datagram has a rise")
	}
	for i, sent := range []int64{1000, 500, 2000} { // the second came before the first
		f.Note(sent, int64(i)*1e6)
	}
	if got := f.Rise(); got != 0 {
		t.Errorf("three datagrams rose by %d", got)
	}
	f.Note(1<<62, 5e9) // as far apart as times can be
	if got := f.Rise(); got != 5e9 {
		t.Errorf("rose by %d", got)
	}
}
