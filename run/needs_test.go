package run

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// earlier is a run of cells A, B and C in which B/A varies by 2 % a block and C/A by 8 %.
func earlier(suite string, seed uint64) result.File {
	random := rand.New(rand.NewPCG(seed, 1))
	f := result.File{Run: result.Run{Suite: suite, Plan: result.Plan{WindowSeconds: 1},
		Nodes:  []result.RunNode{{Name: "a", Fingerprint: result.Fingerprint{"cpu.model": "x", "kernel.release": "6"}}},
		Ratios: []result.Ratio{{Over: "B", Under: "A"}, {Over: "C", Under: "A"}}}}
	for i, spread := range []float64{0, 0.02, 0.08} {
		name := string("ABC"[i])
		f.Cells = append(f.Cells, result.Cell{Name: name, Path: "wire", Traffic: "stream"})
		for block := range 20 {
			end := result.PairEnd{WindowSeconds: 1, Bytes: uint64(1e9 * math.Exp(spread*random.NormFloat64()))}
			f.Trials = append(f.Trials, result.Trial{Cell: name, Block: block + 1, Pairs: []result.PairSample{{Sender: end, Receiver: end}}})
		}
	}
	return f
}

func needing(precision float64) Plan {
	p := Plan{Ratios: []result.Ratio{{Metric: result.ReceivedRate, Over: "B", Under: "A"}, {Metric: result.ReceivedRate, Over: "C", Under: "A"}},
		Times: result.Plan{Precision: precision, WindowSeconds: 1, WarmupSeconds: 0.2, MinimumBlocks: 5}}
	p.Suite.Suite = "s"
	for _, name := range []string{"A", "B", "C"} {
		p.Cells = append(p.Cells, PlannedCell{Record: result.Cell{Name: name, Path: "wire", Traffic: "stream"}})
	}
	return p
}

var thisMachine = result.Fingerprint{"cpu.model": "x", "kernel.release": "6", "sysctl.net.core.rmem_max": "1"}

func TestNeedsComeFromWhatVaried(t *testing.T) {
	needs := needing(0.05).Needs([]result.File{earlier("s", 1), earlier("s", 2)}, thisMachine, true)
	if len(needs.Ratios) != 2 || len(needs.Unseen) != 0 {
		t.Fatalf("%+v", needs)
	}
	calm, wild := needs.Ratios[0], needs.Ratios[1]
	if calm.Borrowed || calm.Variation.Runs != 2 || calm.About < 5 || calm.About > 12 || wild.About < 2*calm.About || wild.AtMost <= wild.About {
		t.Errorf("%+v, %+v", calm, wild)
	}
	// A and C are in every block, B leaves when it is known.
	trials := time.Duration(2*wild.About + calm.About)
	if want := closingTime + 3*setUpPerCell + trials*trialTime(needing(0.05).Times, PlannedCell{}) + calibrationTime; needs.About != want {
		t.Errorf("about %s, want %s", needs.About, want)
	}
	if finer := needing(0.02).Needs([]result.File{earlier("s", 1), earlier("s", 2)}, thisMachine, true); finer.About < 3*needs.About {
		t.Errorf("2 %% takes %s, 5 %% %s", finer.About, needs.About)
	}
}

func TestNeedsOfWhatWasNotSeen(t *testing.T) {
	elsewhere := earlier("s", 1)
	elsewhere.Run.Nodes[0].Fingerprint["cpu.model"] = "y"
	host := earlier("s", 1)
	host.Run.Nodes[0].Host = "h1"
	long := earlier("s", 1)
	long.Run.Plan.WindowSeconds = 3
	needs := needing(0.05).Needs([]result.File{elsewhere, host, long, {}}, thisMachine, true)
	if len(needs.Ratios) != 0 || !strings.Contains(needs.Words(), "no run like it was seen on this machine yet") {
		t.Errorf("%+v", needs)
	}
	// Unless the window is fixed, that run's own is reckoned with, and said.
	needs = needing(0.05).Needs([]result.File{elsewhere, long}, thisMachine, false)
	if len(needs.Ratios) != 2 || needs.Window != 3*time.Second || !strings.Contains(needs.Words(), "--window 3s") {
		t.Errorf("%+v", needs)
	}
	// Another suite's ratios of the metric stand in, and it is said so.
	needs = needing(0.05).Needs([]result.File{earlier("other", 1)}, thisMachine, true)
	if len(needs.Ratios) != 2 || !needs.Ratios[0].Borrowed || !strings.Contains(needs.Words(), "not seen here yet") {
		t.Errorf("%+v", needs)
	}
}

func TestRoundedTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{83 * time.Second: "90s", 11*time.Minute + time.Second: "12m", 61 * time.Minute: "1h10m", 0: "0s"} {
		if got := rounded(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}
