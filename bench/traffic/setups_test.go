package main

import (
	"strings"
	"testing"
	"time"

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

func TestEveryPeerIsAskedForWhatItCan(t *testing.T) {
	given := settings{window: 2 * time.Second}
	for _, s := range setups {
		if s.what == frames {
			continue
		}
		for name, p := range map[string]func(settings, setup) (commands, bool){"nuttcp": nuttcpCommands, "sockperf": sockperfCommands, "netperf": netperfCommands, "ntttcp": ntttcpCommands} {
			c, able := p(given, s)
			if bulk := s.what == datagrams; able != (bulk || name == "sockperf" || name == "netperf") {
				t.Errorf("%s for %s: %v", name, s.name, able)
			}
			if able && (len(c.server) == 0 || c.ready == nil || !strings.Contains(strings.Join(c.client, " "), wire.B.Address)) {
				t.Errorf("%s for %s: %+v", name, s.name, c)
			}
		}
	}
}

func TestCounting(t *testing.T) {
	var sample wire.Sample
	sample.Receiver.WindowSeconds = 2
	sample.ReceivedTCP, sample.ReceivedUDP = 2800, 100
	sample.Receiver.Stacks = []result.StackSample{{InPackets: 2, InBytes: 2*28 + 50*1400}}
	cases := map[string]struct {
		what       counted
		message    int
		aggregates bool
		want       float64
	}{
		"TCP requests":     {tcpTransactions, 14, false, 100},
		"UDP requests":     {udpTransactions, 1, false, 50},
		"datagrams":        {datagrams, 1400, false, 50},
		"aggregated by IP": {datagrams, 1400, true, 25},
	}
	for name, c := range cases {
		if got := (setup{what: c.what}).kernelCount(sample, c.message, c.aggregates); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
	sample.PerSecond = 28 // of 25 that came
	sample.Sender.WindowSeconds = 2
	sample.Receiver.CPUs, sample.Sender.CPUs = make([]result.CPUSample, 1), make([]result.CPUSample, 1)
	if err := (setup{what: datagrams, message: 1400}).check(sample); err == nil {
		t.Error("more than the kernel saw passed")
	}
}

func TestOnlyUsableRoundsCount(t *testing.T) {
	setup := setup{what: datagrams, name: "x", goal: 1, alone: map[string]float64{"b": 2}}
	table := newTable(setup, []wire.Program{{Name: "a 1"}, {Name: "b 2"}})
	if table.add(wire.Sample{PerSecond: 5}, []wire.Sample{{}, {}}) || table.pairs() != 0 {
		t.Error("a round without a peer was taken")
	}
	if !table.add(wire.Sample{PerSecond: 5}, []wire.Sample{{PerSecond: 2}, {PerSecond: 1}}) || table.rows[0].Peer[0] != 2 || table.rows[1].Peer[0] != 1 {
		t.Errorf("the best peer is 2, b alone 1: %+v", table.rows)
	}
}
