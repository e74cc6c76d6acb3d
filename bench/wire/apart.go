package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"windtunnel/traffic"
)

// A hypervisor moves virtual CPUs, and does not tell. Where a moment ago both had one cache, a line may now take four times as
// long from one to the other, for seconds or minutes, and whatever one CPU hands the other costs more: a trial of such a time is
// one of another machine, and no pair with one before or after it.
const (
	// Apart is how many times as long as usual, by near, a line takes at the least between CPUs that are no longer near each other.
	// Caches of their own and shared ones differ by 3 and more, and trials of the same by a third.
	Apart = 2
	// OtherMachine is how many times as long a line takes in one trial as in another, or in one round, if the CPUs were moved between them: they are
	// 5 and more of that on an AMD EPYC, while what trials of the same measure differs by 2 on an Intel Xeon.
	OtherMachine = 3
	// looks are how many of the last measurements tell what is usual: some minutes'.
	looks = 64
	// NearPatience is how long a trial waits for them to be near each other again, at most.
	NearPatience = 20 * time.Second
	nearEvery    = 200 * time.Millisecond
	// handoffs are those of a run, each there and back, and handoffRuns how many runs a measurement has, of which the median counts: it takes
	// a millisecond or three, and may be made while a program has the CPUs, whose turns spoil single runs.
	handoffs    = 500
	handoffRuns = 21
)

// distance keeps how far from each other two CPUs are.
type distance struct {
	measure func() (time.Duration, error) // how long a line takes from one to the other
	seen    []time.Duration               // the last that were measured
}

// near is what a line takes when they are near each other, as a rule: the lower quartile of what was measured, 0 of nothing. The least
// would not do: on an Intel Xeon one look in forty has a third of what the others have, which would all be apart from that on.
func (d *distance) near() time.Duration {
	if len(d.seen) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(d.seen))[(len(d.seen)-1)/4]
}

// apart measures, and tells whether the CPUs are far from each other for what they were before.
func (d *distance) apart() (bool, error) {
	now, err := d.measure()
	if err != nil {
		return false, err
	}
	d.seen = append(d.seen[max(0, len(d.seen)-looks+1):], now)
	return now > Apart*d.near(), nil
}

// last is what was measured last, 0 of nothing.
func (d *distance) last() time.Duration {
	if len(d.seen) == 0 {
		return 0
	}
	return d.seen[len(d.seen)-1]
}

// await waits until the CPUs are near each other. If that takes too long, they are from now on as they are.
func (d *distance) await(ctx context.Context, patience, every time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		apart, err := d.apart()
		if err != nil || !apart {
			return err
		}
		if time.Now().After(deadline) {
			d.seen = nil
			return nil
		}
		if err := Wait(ctx, every); err != nil {
			return err
		}
	}
}

// Lie is how the CPUs lay to each other in a round of trials.
type Lie int

const (
	Near  Lie = iota // as near as in any round before
	Away             // apart in all of its trials: of another machine than a round in which they were near
	Moved            // near each other in some trials, and apart in others, which are no pairs then
)

func (l Lie) String() string {
	return [...]string{"the CPUs were near each other", "the CPUs were apart throughout", "the CPUs were moved meanwhile, so it is left out"}[l]
}

// Lies tells rounds by how the CPUs lay in them. Its zero value has seen none.
type Lies struct{ least time.Duration } // what a line took in the round in which they were nearest, its median

// Of tells how they lay in a round, and whether nearer than in all before it, which were then away.
func (l *Lies) Of(round []Sample) (lie Lie, nearer bool) {
	var took []time.Duration
	for _, s := range round {
		if s.Failed == nil && s.Far != 0 {
			took = append(took, s.Far)
		}
	}
	if len(took) == 0 {
		return Near, false
	}
	slices.Sort(took)
	median := took[(len(took)-1)/2]
	switch before := l.least; {
	case took[len(took)-1] > OtherMachine*took[0]:
		return Moved, false
	case before != 0 && median > OtherMachine*before:
		return Away, false
	case before == 0 || median < before:
		l.least = median
		return Near, median*OtherMachine < before
	}
	return Near, false
}

// handoff is how long a cache line takes from one CPU to another: two threads write it in turn.
func handoff(from, to int) (time.Duration, error) {
	var line struct {
		_    [128]byte // two lines, as they are fetched in pairs
		turn atomic.Uint32
		_    [124]byte
	}
	write := func(mine uint32) {
		for line.turn.Load() != mine {
		}
		line.turn.Store(mine + 1)
	}
	took := make([]time.Duration, handoffRuns)
	err := together(from, to, func() {
		for run := range took {
			began := time.Now()
			for i := range uint32(handoffs) {
				write(2 * (uint32(run)*handoffs + i))
			}
			took[run] = time.Since(began)
		}
	}, func() {
		for i := range uint32(handoffs * handoffRuns) {
			write(2*i + 1)
		}
	})
	if err != nil {
		return 0, fmt.Errorf("measuring how far CPU %d is from CPU %d: %w", to, from, err)
	}
	slices.Sort(took)
	return took[handoffRuns/2] / (2 * handoffs), nil
}

// together runs two functions, each on a CPU, once both are there.
func together(first, second int, one, other func()) error {
	ready, begin := make(chan error), make(chan bool)
	var both sync.WaitGroup
	on := func(cpu int, do func()) {
		runtime.LockOSThread() // never unlocked: the thread ends with its binding
		ready <- traffic.PinThread(cpu)
		if <-begin {
			do()
		}
	}
	both.Go(func() { on(first, one) })
	both.Go(func() { on(second, other) })
	err := errors.Join(<-ready, <-ready)
	begin <- err == nil
	begin <- err == nil
	both.Wait()
	return err
}
