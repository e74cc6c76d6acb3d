package result

import (
	"strings"
	"testing"
)

// TestCPUsOfOneMachineAreCountedOnce: nodes may share CPUs, wholly or in part.
func TestCPUsOfOneMachineAreCountedOnce(t *testing.T) {
	sample := func(machine string, cpus ...int) NodeSample {
		s := NodeSample{WindowSeconds: 1, Machine: machine}
		for _, cpu := range cpus {
			s.CPUs = append(s.CPUs, CPUSample{CPU: cpu, Busy: 0.5})
		}
		return s
	}
	cell := Cell{Pairs: []Pair{{From: Place{Node: "a"}, To: Place{Node: "b"}}}}
	for name, c := range map[string]struct {
		a, b     NodeSample
		together float64 // CPUs that were busy
		apart    bool    // the ends' costs are known
		cores    int
	}{
		"one machine's, all of them":  {sample("m", 0, 1), sample("m", 0, 1), 1, false, 2},
		"one machine's, one of them":  {sample("m", 0, 1), sample("m", 1, 2), 1.5, false, 3},
		"one machine's, each its own": {sample("m", 0), sample("m", 1), 1, true, 2},
		"two machines'":               {sample("m", 0, 1), sample("n", 0, 1), 2, true, 4},
		"nobody knows whose":          {sample("", 0), sample("", 0), 1, true, 2},
	} {
		trial := Trial{Nodes: map[string]NodeSample{"a": c.a, "b": c.b}, Pairs: []PairSample{{
			Sender: PairEnd{WindowSeconds: 1, Bytes: 1024}, Receiver: PairEnd{WindowSeconds: 1, Bytes: 1024}}}}
		if got, err := cell.Value(trial, TogetherCost); err != nil || got != c.together*1e9 {
			t.Errorf("%s: together %g ns, %v", name, got, err)
		}
		_, err := cell.Value(trial, SenderCost)
		if (err == nil) != c.apart || err != nil && !strings.Contains(err.Error(), "one machine") {
			t.Errorf("%s: the sender's is %v", name, err)
		}
		if got, err := cell.Cores(trial); err != nil || got != c.cores {
			t.Errorf("%s: %d cores, %v", name, got, err)
		}
	}
}
