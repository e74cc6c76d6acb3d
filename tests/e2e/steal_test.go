//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"windtunnel/traffic"
)

// skipStolen ends a test of a run that has nothing to be judged by, if its own words are that a hypervisor took the CPUs in its
// trials: those do not count, and that they do not is right.
func skipStolen(t *testing.T, said string) {
	t.Helper()
	trials := 0
	last := ""
	for line := range strings.Lines(said) {
		if strings.Contains(line, "stolen by the hypervisor") {
			trials, last = trials+1, strings.TrimSpace(line)
		}
	}
	if trials > 0 {
		t.Skipf("not measured here: a hypervisor took this machine's CPUs; %d times it was said, the last: %s", trials, last)
	}
}

// stolenWhile is the largest share of a CPU that a hypervisor took while something was done.
func stolenWhile(t *testing.T, do func()) (share float64) {
	t.Helper()
	before, err := traffic.Steal()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	do()
	after, err := traffic.Steal()
	if err != nil {
		t.Fatal(err)
	}
	for i := range min(len(before), len(after)) {
		share = max(share, (after[i]-before[i]).Seconds()/time.Since(began).Seconds())
	}
	return share
}

// TestStolenRunsAreToldApart: of a run that failed otherwise, no test is skipped.
func TestStolenRunsAreToldApart(t *testing.T) {
	skipped := func(said string) (is bool) {
		t.Run("said", func(t *testing.T) {
			defer func() { is = t.Skipped() }()
			skipStolen(t, said)
		})
		return is
	}
	if skipped("cell a, block 1: does not count: the window of node a took 0.89 s, not 1.00 s\n") {
		t.Error("a run without stolen time is skipped")
	}
	if !skipped("cell a, block 1: does not count: 44 % of CPU 0 of node a was stolen by the hypervisor\n") {
		t.Error("a run whose trials were stolen is judged")
	}
}
