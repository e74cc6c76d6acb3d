package ping

import "math/rand/v2"

// arrivals says when the requests of one thread are due. Threads whose arrivals are
// fixed take turns, so that all of them together are even, too.
type arrivals struct {
	gap    float64 // ns between two requests of this thread, on average
	random *rand.Rand
	begin  int64 // nanotime
	at     float64
}

// newArrivals are those of thread i, which has mine of all flows.
func newArrivals(l load, i, mine int, begin int64) *arrivals {
	a := &arrivals{gap: 1e9 / l.rate * float64(l.flows) / float64(mine), begin: begin}
	if l.poisson {
		a.random = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
		a.at = a.step()
		return a
	}
	a.at = a.gap * float64(i) / float64(l.threads)
	return a
}

func (a *arrivals) step() float64 {
	if a.random == nil {
		return a.gap
	}
	return a.gap * a.random.ExpFloat64()
}

// fill writes the next times.
func (a *arrivals) fill(times []int64) {
	for i := range times {
		times[i] = a.begin + int64(a.at)
		a.at += a.step()
	}
}
