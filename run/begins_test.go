package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/scenario"
)

// TestBeginsOfGenerators: what a program of others takes to begin is part of each trial's time, and nobody gives it up before
// the time that it has for that.
func TestBeginsOfGenerators(t *testing.T) {
	const text = `
suite: begins
asks: q
nodes: {a: {}}
traffic: {kind: frame, size: 64B%s}
cells:
  x: {path: testpmd, pairs: [{from: {container: s, on: a}, to: {container: r, on: a}}]}
`
	plans := map[string]Plan{}
	for _, generator := range []string{"", ", generator: testpmd", ", generator: pktgen", ", generator: trex"} {
		spec, err := scenario.Parse(fmt.Appendf(nil, text, generator), "begins.yaml", Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		if plans[generator], err = MakePlan(spec, small, Settings{Budget: 2 * time.Minute, Precision: 0.05, Window: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	times := result.Plan{WarmupSeconds: 0.2, WindowSeconds: 1}
	own, testpmd, pktgen := plans[""].Cells[0], plans[", generator: testpmd"].Cells[0], plans[", generator: pktgen"].Cells[0]
	if own.begins != 0 || own.begins != testpmd.begins || pktgen.begins < time.Second || pktgen.beginsWithin < 2*pktgen.begins {
		t.Errorf("%s, %s, %s within %s", own.begins, testpmd.begins, pktgen.begins, pktgen.beginsWithin)
	}
	if more := trialTime(times, pktgen) - trialTime(times, own); more != pktgen.begins {
		t.Errorf("a trial is planned %s longer", more)
	}
	trial := result.Trial{WarmupSeconds: 0.2, WindowSeconds: 1}
	for what, more := range map[string]time.Duration{"building": buildLimit(pktgen) - buildLimit(own), "a trial": trialLimit(pktgen, trial) - trialLimit(own, trial)} {
		if more != pktgen.beginsWithin {
			t.Errorf("%s may take %s longer", what, more)
		}
	}
	c := Conductor{Plan: Plan{Times: times}, readied: map[string]time.Duration{"x": 10 * time.Second}}
	if c.takes(pktgen) != trialTime(times, own)+10*time.Second || c.takes(own) != trialTime(times, own) {
		t.Errorf("after it took 10 s to begin, a trial is taken for one of %s, and our own for %s", c.takes(pktgen), c.takes(own))
	}
	if trex := plans[", generator: trex"].Cells[0]; trex.begins < time.Second || trex.beginsWithin < 2*trex.begins {
		t.Errorf("TRex begins in %s, within %s", trex.begins, trex.beginsWithin)
	}
	if fewer := plans[", generator: pktgen"].Times.BlocksPlanned; fewer >= plans[""].Times.BlocksPlanned {
		t.Errorf("%d blocks are planned, as for our own", fewer)
	}
}

// TestATrialWhoseEndsWereLate is told as that: what is left of its time is too short for it, and no node would be late with its part.
func TestATrialWhoseEndsWereLate(t *testing.T) {
	own, slow := PlannedCell{}, PlannedCell{beginsWithin: 10 * time.Second}
	for _, c := range []struct {
		cell PlannedCell
		took time.Duration
		late bool
	}{{own, time.Second, false}, {own, trialPatience, false}, {own, trialPatience + 300*time.Millisecond, true}, {slow, 9 * time.Second, false}, {slow, 15 * time.Second, true}} {
		err := tooLate(c.cell, c.took)
		if (err != nil) != c.late || c.late && !strings.Contains(err.Error(), "took its ends "+c.took.String()) {
			t.Errorf("%s of %s more: %v", c.took, c.cell.beginsWithin, err)
		}
	}
}

// TestATrialOutlastsTheWaitForItsAnswers: where answers are lost that are waited for long, the asking end goes on for as long after the window, and
// a trial that was given up 4 s after it was excluded as not measured.
func TestATrialOutlastsTheWaitForItsAnswers(t *testing.T) {
	const text = `
suite: waits
asks: q
nodes: {a: {}}
traffic: %s
cells:
  x: {path: bridge, pairs: [{from: {container: s, on: a}, to: {container: r, on: a}}]}
`
	limits := map[string]time.Duration{}
	for _, load := range []string{
		"{kind: ping, protocol: udp}", "{kind: ping, protocol: udp, wait: 2s}", "{kind: ping, protocol: udp, wait: 20s}", "{kind: stream}",
	} {
		spec, err := scenario.Parse(fmt.Appendf(nil, text, load), "waits.yaml", Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		plan, err := MakePlan(spec, small, Settings{Budget: 2 * time.Minute, Precision: 0.05, Window: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		limits[load] = trialLimit(plan.Cells[0], result.Trial{WarmupSeconds: 0.2, WindowSeconds: 1})
	}
	plain := limits["{kind: stream}"]
	for load, more := range map[string]time.Duration{
		"{kind: ping, protocol: udp}": 0, "{kind: ping, protocol: udp, wait: 2s}": 1500 * time.Millisecond, "{kind: ping, protocol: udp, wait: 20s}": 28500 * time.Millisecond,
	} {
		if got := limits[load] - plain; got != more {
			t.Errorf("a trial of %s may take %s longer than one of streams, not %s", load, got, more)
		}
	}
}
