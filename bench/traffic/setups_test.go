package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"windtunnel/bench/peers"
	"windtunnel/bench/wire"
	"windtunnel/result"
	"windtunnel/traffic/kinds"
)

// TestOurLoadsAreKnown catches a setup whose options a load does not take.
func TestOurLoadsAreKnown(t *testing.T) {
	for _, s := range setups {
		kind, known := kinds.ByName(s.kind)
		if !known {
			t.Errorf("%s: no load is called %q", s.name, s.kind)
			continue
		}
		names := map[string]bool{}
		for _, o := range kind.Options() {
			names[o.Name] = true
		}
		for name := range s.load {
			if !names[name] {
				t.Errorf("%s: %s takes no option %q", s.name, s.kind, name)
			}
		}
	}
}

func TestACountThatTheKernelDidNotSeeIsRefused(t *testing.T) {
	var sample wire.Sample
	sample.Sender.WindowSeconds, sample.Receiver.WindowSeconds = 2, 2
	sample.Receiver.Stacks = []result.StackSample{{InPackets: 2, InBytes: 2*28 + 50*1400}} // 25/s
	sample.Receiver.CPUs, sample.Sender.CPUs = make([]result.CPUSample, 1), make([]result.CPUSample, 1)
	s := setup{work: peers.Work{What: peers.Datagrams, Message: 1400}}
	for rate, refused := range map[float64]bool{25: false, 28: true} {
		sample.PerSecond = rate
		if err := s.check(sample); errors.Is(err, errUnseen) != refused || err != nil && !refused {
			t.Errorf("%g of 25 a second: %v", rate, err)
		}
	}
}

// TestACountIsTakenOnceItWasSeen: trials are made again until then, but not for ever, and not for another reason.
func TestACountIsTakenOnceItWasSeen(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		trials []error
		made   int
		err    error
	}{
		{[]error{nil}, 1, nil},
		{[]error{errUnseen, nil}, 2, nil},
		{[]error{errUnseen, errUnseen, errUnseen, nil}, seenTries, errUnseen},
		{[]error{broken, nil}, 1, broken},
	} {
		made := 0
		_, err := seen(func() (wire.Sample, error) { made++; return wire.Sample{}, c.trials[made-1] })
		if made != c.made || !errors.Is(err, c.err) {
			t.Errorf("%v: %d trials, %v", c.trials, made, err)
		}
	}
}

func TestPeersFarBehindStopRunning(t *testing.T) {
	s := setup{name: "x", work: peers.Work{What: peers.Datagrams}, goal: 1, alone: map[string]float64{"slow 2": 2}}
	table := newTable(s, []wire.Program{{Name: "fast 1"}, {Name: "slow 2"}, {Name: "slower 3"}})
	for range 3 {
		in := table.running()
		if !slices.Equal(in, []int{0, 1, 2, 3}) {
			t.Fatalf("running: %v", in)
		}
		table.add(in, []wire.Sample{{PerSecond: 10}, {PerSecond: 9}, {PerSecond: 3}, {PerSecond: 1}})
	}
	if in := table.running(); !slices.Equal(in, []int{0, 1, 2}) {
		t.Errorf("after three rounds: %v", in)
	}
	if rows := table.rows(); len(rows) != 2 || rows[0].Peer[0] != 9 || rows[1].Peer[0] != 3 {
		t.Errorf("rows: %+v", rows)
	}
}

// TestRowsSayTheirLimit: each goal of a setup's rate has the setup's reason, what it costs has none.
func TestRowsSayTheirLimit(t *testing.T) {
	s := setup{name: "x", work: peers.Work{What: peers.Bytes}, goal: 1, alone: map[string]float64{"slow 2": 2}, limit: "the copy"}
	table := newTable(s, []wire.Program{{Name: "fast 1"}, {Name: "slow 2"}})
	sample := wire.Sample{PerSecond: 5}
	table.add(table.running(), []wire.Sample{sample, sample, sample})
	var got []string
	for _, row := range table.rows() {
		got = append(got, row.Limit)
	}
	if len(got) < 2 || got[0] != "the copy" || got[1] != "the copy" || slices.Contains(got[2:], "the copy") {
		t.Errorf("the rows' limits are %q", got)
	}
}

func TestNoRoundsAreRefused(t *testing.T) {
	var errs strings.Builder
	if code := run([]string{"-rounds", "0", "-results", ""}, nil, io.Discard, &errs); code != 2 || !strings.Contains(errs.String(), "-rounds is 1 at least") {
		t.Errorf("code %d: %s", code, errs.String())
	}
}
