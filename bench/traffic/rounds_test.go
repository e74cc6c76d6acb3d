package main

import (
	"testing"
	"time"

	"windtunnel/bench/peers"
	"windtunnel/bench/wire"
)

// lineUp are the rounds of a setup with two peers, of which the slower one is soon left out.
func lineUp(least, most int) *rounds {
	s := setup{name: "x", work: peers.Work{What: peers.Datagrams}, goal: 1}
	return newRounds(settings{rounds: least, most: most}, func() *table {
		return newTable(s, []wire.Program{{Name: "fast 1"}, {Name: "slow 2"}})
	})
}

// one is a round in which ours has so many times what the fast peer has, and a line took so long.
func one(ratio float64, far time.Duration, in []int) (samples []wire.Sample) {
	for i := range in {
		samples = append(samples, wire.Sample{PerSecond: []float64{10 * ratio, 10, 1}[in[i]], Far: far})
	}
	return samples
}

// TestRoundsOfAnotherMachineHaveATableOfTheirOwn, from which no goal is judged; the slow peer is in neither.
func TestRoundsOfAnotherMachineHaveATableOfTheirOwn(t *testing.T) {
	r, lies := lineUp(6, 6), wire.Lies{}
	for i := 0; r.goOn(); i++ {
		in := r.near.running()
		samples := one(2, 26, in)
		switch i % 3 {
		case 1:
			samples = one(0.5, 170, in)
		case 2:
			samples[0].Far = 170
		}
		lie, nearer := lies.Of(samples)
		r.add(lie, nearer, in, samples)
	}
	counts, other := r.counts()
	if counts.rounds != 6 || other.rounds != 5 || r.moved != 5 || r.made() != 16 {
		t.Fatalf("%d, %d and %d rounds", counts.rounds, other.rounds, r.moved)
	}
	for table, want := range map[*table]float64{counts: 2, other: 0.5} {
		if rows := table.measured(); len(rows) != 1 || rows[0].Estimate().Estimate != want {
			t.Errorf("%+v, want %g", rows, want)
		}
	}
	if got, want := r.lines("x"), "| x | 6 | 26 | 26 | 26 | 5 | 170 | 5 |\n"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAMachineThatStaysApartIsJudgedAsItIs, and one that moves all the while.
func TestAMachineThatStaysApartIsJudgedAsItIs(t *testing.T) {
	for _, lie := range []wire.Lie{wire.Away, wire.Moved} {
		r := lineUp(4, 5)
		for r.goOn() {
			in := r.near.running()
			r.add(lie, false, in, one(2, 170, in))
		}
		if counts, other := r.counts(); counts.rounds != 5 || other != nil { // five are too few for a verdict
			t.Errorf("%v: %d rounds, and others: %v", lie, counts.rounds, other)
		}
	}
}

// TestWhatWasNearUntilCPUsWereNearer is of another machine.
func TestWhatWasNearUntilCPUsWereNearer(t *testing.T) {
	r, lies := lineUp(1, 3), wire.Lies{}
	for _, far := range []time.Duration{170, 180, 26} {
		in := r.near.running()
		samples := one(2, far, in)
		lie, nearer := lies.Of(samples)
		r.add(lie, nearer, in, samples)
	}
	if counts, other := r.counts(); counts.rounds != 1 || other == nil || other.rounds != 2 || counts.far[0] != 26 {
		t.Errorf("%d rounds count, others: %+v", counts.rounds, other)
	}
}

// TestLines: the middle of an even number is the lower one of both.
func TestLines(t *testing.T) {
	const ns = time.Nanosecond
	median, least, most := (&table{far: []time.Duration{60 * ns, 40 * ns, 200 * ns, 50 * ns}}).lines()
	if median != 50 || least != 40 || most != 200 {
		t.Errorf("%d, %d, %d", median, least, most)
	}
}
